#include "runtime/queue_manager.h"

#include <gtest/gtest.h>

#include <thread>

namespace poprt::runtime {
namespace {

program::Program two_inputs_one_output() {
  program::Program p;
  p.inputs = {{"a", DType::f32, {2}}, {"b", DType::f32, {}}};
  p.outputs = {{"y", DType::f32, {2}}};
  return p;
}

struct Log {
  std::vector<std::pair<char, ErrorCode>> entries;
};
struct Note {
  Log* log;
  char name;
  QueueCallback callback() {
    return {[](void* c, ErrorCode code) noexcept {
              const auto* note = static_cast<Note*>(c);
              note->log->entries.emplace_back(note->name, code);
            },
            this};
  }
};

TEST(QueueManager, HandsPointersThroughAndCallsBackOnce) {
  const program::Program p = two_inputs_one_output();
  QueueManager queues(p, 4);
  float a[2], b, y[2];
  Log log;
  Note na{&log, 'a'}, ny{&log, 'y'};
  EXPECT_TRUE(queues.input_queue("a").enqueue(a, 8, na.callback()));
  EXPECT_TRUE(queues.input_queue("b").enqueue(&b, 4));
  EXPECT_TRUE(queues.output_queue("y").enqueue(y, 8, ny.callback()));
  ASSERT_TRUE(queues.wait_ready());
  EXPECT_EQ(queues.front_inputs()[0], a);
  EXPECT_EQ(queues.front_inputs()[1], &b);
  EXPECT_EQ(queues.front_outputs()[0], y);
  EXPECT_TRUE(log.entries.empty());
  queues.complete(ErrorCode::ok);
  ASSERT_EQ(log.entries.size(), 2u);
  EXPECT_EQ(log.entries[0], std::pair('a', ErrorCode::ok));
  EXPECT_EQ(log.entries[1], std::pair('y', ErrorCode::ok));
  EXPECT_EQ(queues.input(0).size(), 0u);
}

TEST(QueueManager, UnknownNamesAndWrongSizesAreErrors) {
  const program::Program p = two_inputs_one_output();
  QueueManager queues(p, 4);
  try {
    queues.input_queue("c");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_found);
    EXPECT_STREQ(e.what(), "there is no input 'c'; inputs are: 'a', 'b'");
  }
  float a[2];
  EXPECT_THROW(queues.input(0).enqueue(a, 4), Error);
}

TEST(QueueManager, DisconnectWakesBothSidesAndCancels) {
  const program::Program p = two_inputs_one_output();
  QueueManager queues(p, 1);
  float a[2];
  Log log;
  Note na{&log, 'a'};
  ASSERT_TRUE(queues.input(0).enqueue(a, 8, na.callback()));
  std::thread producer([&] { EXPECT_FALSE(queues.input(0).enqueue(a, 8)); });  // full
  std::thread server([&] { EXPECT_FALSE(queues.wait_ready()); });  // b and y are missing
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  queues.disconnect_all();
  producer.join();
  server.join();
  queues.cancel_waiting();
  ASSERT_EQ(log.entries.size(), 1u);
  EXPECT_EQ(log.entries[0].second, ErrorCode::cancelled);
}

TEST(QueueManager, FinishServesWhatIsThere) {
  const program::Program p = two_inputs_one_output();
  QueueManager queues(p, 2);
  float a[2], b, y[2];
  queues.input(0).enqueue(a, 8);
  queues.input(1).enqueue(&b, 4);
  queues.output(0).enqueue(y, 8);
  queues.finish();
  EXPECT_TRUE(queues.wait_ready());
  queues.complete(ErrorCode::ok);
  EXPECT_FALSE(queues.wait_ready());
}

}  // namespace
}  // namespace poprt::runtime

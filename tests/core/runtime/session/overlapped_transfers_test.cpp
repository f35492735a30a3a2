// Sessions of models compiled with I/O tiles: callbacks and queues run during the computation.
#include "runtime/session/overlapped_transfers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "base/error.h"
#include "core/runtime/runner/replica_support.h"
#include "program/builder.h"
#include "runtime/queue/queue_manager.h"
#include "runtime/session/session.h"
#include "runtime/telemetry/telemetry_reader.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;
using namespace replica_test;

// An instruction from "x" to "y", four f32; the device's function computes it.
std::shared_ptr<Model> compiled(int batches, int tiles) {
  program::Builder b;
  const Shape shape = {4};
  const auto x = b.add_input({"x", DType::f32, shape});
  const auto y = b.add_output({"y", DType::f32, shape});
  const program::BufferId operands[] = {b.input(x, 0, 16, DType::f32, shape),
                                        b.output(y, 0, 16, DType::f32, shape)};
  b.emit("copy", operands, {}, {}, "copy");
  const auto model = std::make_shared<Model>(
      *make_model("m", {std::make_shared<program::Program>(b.program()), {}, {}}));
  set_engine_options(*model, {{"batches_per_step", std::to_string(batches)},
                              {"num_io_tiles", std::to_string(tiles)}});
  return model;
}

SessionConfig session_on(std::shared_ptr<device::Device> device) {
  SessionConfig config;
  config.device = std::move(device);
  return config;
}

// As an input it provides numbered values; as an output it records the values.
struct Numbers : StreamCallback {
  explicit Numbers(bool in) : is_input(in) {}
  bool any_thread() const noexcept override { return anywhere; }
  Result fetch(void* p) noexcept override {
    if (hook) hook(next);
    if (next == missing) return Result::not_available;
    auto* const values = static_cast<float*>(p);
    if (is_input)
      std::fill_n(values, 4, static_cast<float>(next));
    else
      taken.push_back(values[3]);
    return Result::success;
  }
  void complete() noexcept override { next++; }
  void interrupt() noexcept override { interrupts++; }
  void resume() noexcept override { resumes++; }

  const bool is_input;
  bool anywhere = true;
  std::function<void(int)> hook;
  int next = 0, missing = -1;
  std::atomic<int> interrupts{0}, resumes{0};
  std::vector<float> taken;
};

struct Connected {
  explicit Connected(Session& session) {
    session.set_user_input_handler("x", x);
    session.set_user_output_handler("y", y);
    x->resumes = y->resumes = 0;
  }
  std::shared_ptr<Numbers> x = std::make_shared<Numbers>(true),
                           y = std::make_shared<Numbers>(false);
};

std::vector<float> counted(int count) {
  std::vector<float> list(static_cast<size_t>(count));
  std::iota(list.begin(), list.end(), 1.f);
  return list;
}

TEST(OverlappedTransfers, RunsGiveTheResultsOfRunsWithoutOverlap) {
  for (const int tiles : {0, 32})
    for (const int batches : {1, 2, 3, 4, 50}) {
      Session session(compiled(batches, tiles),
                      session_on(std::make_shared<FunctionDevice>(add_one(4))));
      const Connected at(session);
      for (int run = 1; run <= 3; run++) {
        session.run_main_programs();
        EXPECT_EQ(at.y->taken, counted(run * batches));
        EXPECT_EQ(at.x->next, run * batches) << "nothing is taken that is not computed";
      }
    }
}

TEST(OverlappedTransfers, AnInputKeepsItsLastValueForAnotherProgram) {
  const std::shared_ptr<Model> model = compiled(3, 32);
  model->metadata.programFlow().setMain({1, 5});
  for (popef::Anchor& a : model->metadata.anchors()) a.setPrograms({a.name() == "x" ? 1u : 5u});
  Session session(model, session_on(std::make_shared<FunctionDevice>(add_one(4))));
  const Connected at(session);
  session.run_programs(std::vector<uint32_t>{1, 5});
  session.run_programs(std::vector<uint32_t>{5});
  EXPECT_EQ(at.y->taken, (std::vector<float>{1, 2, 3, 3, 3, 3}));
}

TEST(OverlappedTransfers, TheNextBatchIsFetchedAndTheLastTakenWhileOneComputes) {
  Gate begun, fetched, taken;
  std::atomic<int> runs{0};
  std::atomic<bool> in_time{false};
  const auto plus = add_one(4);
  Session session(
      compiled(4, 32),
      session_on(std::make_shared<FunctionDevice>([&](const void* const* in, void* const* out) {
        if (runs++ == 1) {
          begun.open();
          in_time = fetched.wait() && taken.wait();
        }
        plus(in, out);
      })));
  const Connected at(session);
  at.x->hook = [&](int n) {
    if (n != 2) return;
    begun.wait();
    fetched.open();
  };
  at.y->hook = [&](int n) {
    if (n != 0) return;
    begun.wait();
    taken.open();
  };
  session.run_main_programs();
  EXPECT_TRUE(in_time);
  EXPECT_EQ(at.y->taken, counted(4));
}

TEST(OverlappedTransfers, CallbacksThatWantTheThreadThatRunsAreCalledByIt) {
  for (const bool input : {true, false}) {
    Session session(compiled(8, 32), session_on(std::make_shared<FunctionDevice>(add_one(4))));
    const Connected at(session);
    (input ? at.x : at.y)->anywhere = false;
    const auto mine = std::this_thread::get_id();
    int others = 0;
    at.x->hook = at.y->hook = [&](int) { others += std::this_thread::get_id() != mine; };
    session.run_main_programs();
    EXPECT_EQ(others, 0);
    EXPECT_EQ(at.y->taken, counted(8));
  }
}

// Also provides the next input when it is prefetched.
struct Ahead : Numbers {
  using Numbers::Numbers;
  Result prefetch(void* p) noexcept override { return fetch(p); }
  void invalidate_prefetched() noexcept override { invalidations++; }
  int invalidations = 0;
};

TEST(OverlappedTransfers, RefetchesDataPrefetchedWithoutOverlap) {
  Session session(compiled(4, 32), session_on(std::make_shared<FunctionDevice>(add_one(4))));
  const Connected at(session);
  const auto x = std::make_shared<Ahead>(true);
  session.set_user_input_handler("x", x);
  at.y->anywhere = false;
  session.run_main_programs();
  at.y->anywhere = true;
  session.run_main_programs();
  EXPECT_EQ(x->invalidations, 1);
  at.y->anywhere = false;
  session.run_main_programs();
  EXPECT_EQ(at.y->taken, counted(12));
}

TEST(OverlappedTransfers, AQueueWithATimeoutCallsTheUserFromTheThreadThatRuns) {
  Session session(compiled(4, 32), session_on(std::make_shared<FunctionDevice>(add_one(4))));
  const std::vector<float> padding = {5, 5, 5, 5};
  std::vector<std::vector<float>> y(4, std::vector<float>(4));
  const auto mine = std::this_thread::get_id();
  int calls = 0, others = 0;
  QueueManager& queues = session.create_queue_manager(
      4,
      [&](InputStreamQueue& queue) {
        calls++;
        others += std::this_thread::get_id() != mine;
        queue.enqueue(padding.data(), 16);
      },
      1ms);
  for (auto& to : y) queues.output_queue("y").enqueue(to.data(), 16);
  session.run_main_programs();
  EXPECT_GE(calls, 4);
  EXPECT_EQ(others, 0);
  for (const auto& got : y) EXPECT_EQ(got, std::vector<float>(4, 6));
}

TEST(OverlappedTransfers, MissingDataEndsTheRunAfterAvailableData) {
  Session session(compiled(10, 32), session_on(std::make_shared<FunctionDevice>(add_one(4))));
  for (const bool input : {true, false}) {
    const Connected at(session);
    (input ? at.x : at.y)->missing = 5;
    EXPECT_EQ(code_of([&] { session.run_main_programs(); }), ErrorCode::cancelled);
    EXPECT_EQ(at.y->taken, counted(5));
    // A callback that was stopped by the failure of another one continues in the next run.
    EXPECT_EQ(at.x->interrupts, at.x->resumes);
  }
}

// The only segment of the folder.
TelemetrySnapshot telemetry_in(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator file(folder);
  return read_segment(file->path());
}

TEST(OverlappedTransfers, BatchesAreCountedWhenTheyAreAnswered) {
  char name[] = "/tmp/poprt_overlapped_XXXXXX";
  const std::filesystem::path folder = ::mkdtemp(name);
  ::setenv("POPRT_TELEMETRY_DIR", folder.c_str(), 1);
  SessionConfig config = session_on(std::make_shared<FunctionDevice>(add_one(4)));
  config.telemetry = true;
  {
    Session session(compiled(6, 32), config);
    const Connected at(session);
    session.run_main_programs();
    TelemetrySnapshot s = telemetry_in(folder);
    EXPECT_EQ(s.submitted, 6u);
    EXPECT_EQ(s.completed, 6u);
    EXPECT_EQ(s.failed, 0u);
    EXPECT_EQ(s.runs, 6u);
    EXPECT_GT(s.latency_sum_ns, 0u);
    // A started transfer without an answer has failed.
    at.y->missing = 8;
    EXPECT_THROW(session.run_main_programs(), Error);
    s = telemetry_in(folder);
    EXPECT_EQ(s.completed, 8u);
    EXPECT_GT(s.failed, 0u);
    EXPECT_EQ(s.submitted, s.completed + s.failed);
    EXPECT_EQ(s.in_flight, 0u);
  }
  ::unsetenv("POPRT_TELEMETRY_DIR");
  std::filesystem::remove_all(folder);
}

TEST(OverlappedTransfers, QueuesOfUserMemory) {
  for (const int batches : {3, 16}) {
    Session session(compiled(batches, 32),
                    session_on(std::make_shared<FunctionDevice>(add_one(4))));
    QueueManager& queues = session.create_queue_manager(4);
    std::thread device([&] {
      for (int run = 0; run < 20; run++) session.run_main_programs();
    });
    const auto count = static_cast<size_t>(20 * batches);
    std::vector<float> x(count * 4), y(count * 4);
    std::iota(x.begin(), x.end(), 0.f);
    std::thread out([&] {
      for (size_t i = 0; i < count; i++)
        EXPECT_TRUE(queues.output_queue("y").enqueue(y.data() + 4 * i, 16));
    });
    // Halves, which make one transfer together.
    for (size_t i = 0; i < 2 * count; i++)
      EXPECT_TRUE(queues.input_queue("x").enqueue(x.data() + 2 * i, 8));
    out.join();
    device.join();
    for (size_t i = 0; i < x.size(); i++) ASSERT_EQ(y[i], x[i] + 1) << i;
  }
}

TEST(OverlappedTransfers, StopEndsAWaitingRunAndReloadContinues) {
  Session session(compiled(8, 32), session_on(std::make_shared<FunctionDevice>(add_one(4))));
  QueueManager* queues = &session.create_queue_manager(4);
  std::atomic<int> code{-1};
  std::thread device(
      [&] { code = static_cast<int>(code_of([&] { session.run_main_programs(); })); });
  const std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y(4);
  queues->output_queue("y").enqueue(y.data(), 16);
  queues->input_queue("x").enqueue(x.data(), 16);
  ASSERT_TRUE(eventually([&] { return queues->input_queue("x").read_available() == 0; }));
  session.stop();
  device.join();
  EXPECT_EQ(code, static_cast<int>(ErrorCode::cancelled));
  session.reload();
  const Connected at(session);
  session.run_main_programs();
  EXPECT_EQ(at.y->taken, counted(8));
}

// y = a + 10 b, four f32 each.
std::shared_ptr<Model> of_two_inputs(int batches) {
  program::Builder b;
  const Shape shape = {4};
  const auto in = [&](const char* name) {
    return b.input(b.add_input({name, DType::f32, shape}), 0, 16, DType::f32, shape);
  };
  const program::BufferId operands[] = {
      in("a"), in("b"), b.output(b.add_output({"y", DType::f32, shape}), 0, 16, DType::f32, shape)};
  b.emit("copy", operands, {}, {}, "sum");
  const auto model = std::make_shared<Model>(
      *make_model("m", {std::make_shared<program::Program>(b.program()), {}, {}}));
  set_engine_options(*model,
                     {{"batches_per_step", std::to_string(batches)}, {"num_io_tiles", "32"}});
  return model;
}

// stop() at any place of a transfer loses no data that was enqueued, and pairs all inputs right.
TEST(OverlappedTransfers, InputsStayInStepAfterAStop) {
  constexpr size_t kBatches = 8;
  const auto add = [](const void* const* in, void* const* out) {
    for (size_t i = 0; i < 4; i++)
      static_cast<float*>(out[0])[i] =
          static_cast<const float*>(in[0])[i] + 10 * static_cast<const float*>(in[1])[i];
  };
  for (const size_t whole : {0, 1})         // transfers before the stop
    for (const size_t parts : {1, 2, 3}) {  // then elements of input a with two numbers each
      SCOPED_TRACE(fmt::format("{} whole, {} parts", whole, parts));
      Session session(of_two_inputs(kBatches), session_on(std::make_shared<FunctionDevice>(add)));
      QueueManager& queues = session.create_queue_manager(64);
      const size_t count = kBatches + whole;
      std::vector<float> a(4 * count), b(4 * count), y(4 * count);
      std::iota(a.begin(), a.end(), 1.f);
      std::iota(b.begin(), b.end(), 50.f);
      const auto give_a = [&](size_t from, size_t to) {
        for (size_t i = from; i < to; i++) queues.input_queue("a").enqueue(a.data() + 2 * i, 8);
      };
      const auto give_b = [&](size_t from, size_t to) {
        for (size_t i = from; i < to; i++) queues.input_queue("b").enqueue(b.data() + 4 * i, 16);
      };
      for (size_t i = 0; i < count; i++) queues.output_queue("y").enqueue(y.data() + 4 * i, 16);
      give_a(0, 2 * whole + parts);
      give_b(0, whole);
      std::thread device([&] { EXPECT_THROW(session.run_main_programs(), Error); });
      const size_t left = parts == 3 ? 1 : 0;  // the next transfer waits for b
      ASSERT_TRUE(eventually([&] {
        return queues.input_queue("a").read_available() == left &&
               queues.output_queue("y").counts().finished == whole;
      }));
      session.stop();
      device.join();
      session.reload();
      give_a(2 * whole + parts, 2 * count);
      give_b(whole, count);
      session.run_main_programs();
      for (size_t i = 0; i < y.size(); i++) ASSERT_EQ(y[i], a[i] + 10 * b[i]) << i;
    }
}

TEST(OverlappedTransfers, AForkedProcessRunsOneAfterTheOther) {
  Session session(compiled(4, 32), session_on(std::make_shared<FunctionDevice>(add_one(4))));
  const Connected at(session);
  session.run_main_programs();
  const pid_t child = fork();
  if (child == 0) {
    session.run_main_programs();
    _exit(at.y->taken == counted(8) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace poprt::runtime

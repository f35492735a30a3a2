#include "runtime/queue/queue_manager.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "runtime/session/session.h"
#include "support/copy_model.h"

namespace poprt::runtime {
namespace {

using test::CopyModel;

// Counts the calls of callbacks.
struct Answers {
  QueueCallback callback() {
    return {[](void* context, ErrorCode code) noexcept {
              auto& self = *static_cast<Answers*>(context);
              (code == ErrorCode::ok ? self.ok : self.cancelled)++;
            },
            this};
  }
  std::atomic<int> ok{0}, cancelled{0};
};

struct Fixture {
  explicit Fixture(int64_t n, size_t buffers = 4, InputStreamQueue::Timeout timeout = {},
                   std::chrono::nanoseconds timeout_ns = {})
      : copy(n),
        session(make_model("m", copy.image())),
        queues(session.create_queue_manager(buffers, std::move(timeout), timeout_ns)),
        x(queues.input_queue("x")),
        y(queues.output_queue("y")),
        c(queues.output_queue("c")) {}

  CopyModel copy;
  Session session;
  QueueManager& queues;
  InputStreamQueue& x;
  OutputStreamQueue &y, &c;
};

TEST(QueueManager, ThereIsOneForEachUserAnchor) {
  Fixture s(4);
  EXPECT_EQ(s.queues.inputs().size(), 1u);
  EXPECT_EQ(s.queues.outputs().size(), 2u);
  EXPECT_EQ(s.x.anchor().name, "x");
  EXPECT_EQ(s.x.capacity(), 4u);
  EXPECT_NO_THROW(s.session.verify_connected());
  try {
    s.queues.input_queue("y");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_found);
    EXPECT_STREQ(e.what(), "there is no input queue 'y'; input queues are: 'x'");
  }
  const auto none = [](const popef::Anchor&) { return AnchorCallbackPolicy::bind_empty_cb; };
  QueueManager& fewer = s.session.create_queue_manager(2, {}, {}, {}, none);
  EXPECT_EQ(fewer.inputs().size(), 1u);
  EXPECT_TRUE(fewer.outputs().empty());
  EXPECT_THROW(s.session.create_queue_manager(0), Error);
}

TEST(QueueManager, MemoryIsReadWhenTheDeviceNeedsIt) {
  Answers answers;
  Fixture s(4);
  std::vector<float> x(4, 1.f), y(4), c(4);
  EXPECT_TRUE(s.x.enqueue(x.data(), 16, answers.callback()));
  EXPECT_TRUE(s.y.enqueue(y.data(), 16, answers.callback()));
  EXPECT_TRUE(s.c.enqueue(c.data(), 16, answers.callback()));
  x.assign(4, 2.f);  // not copied before it is consumed
  EXPECT_EQ(answers.ok, 0);
  s.session.run_main_programs();
  EXPECT_EQ(y, std::vector<float>(4, 2.f));
  EXPECT_EQ(c, s.copy.constants);
  EXPECT_EQ(answers.ok, 3);
  EXPECT_EQ(answers.cancelled, 0);
}

TEST(QueueManager, ElementsMayBePartsOfATransferOrSeveral) {
  Fixture s(4, 16);
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::vector<float> y(12), c(12);
  Answers in, out, constants;
  // 3 transfers of 4: as 1 + 2 + 5 (which serves two) + 4.
  size_t at = 0;
  for (const size_t n : {1, 2, 5, 4}) {
    s.x.enqueue(&x[at], n * 4, in.callback());
    at += n;
  }
  s.y.enqueue(y.data(), 24, out.callback());  // one and a half
  s.y.enqueue(&y[6], 4, out.callback());
  s.y.enqueue(&y[7], 20, out.callback());
  s.c.enqueue(c.data(), 48, constants.callback());  // all three in place
  const int expected_in[] = {2, 3, 4}, expected_out[] = {0, 2, 3}, expected_c[] = {0, 0, 1};
  for (int i = 0; i < 3; i++) {
    s.session.run_main_programs();
    EXPECT_EQ(in.ok, expected_in[i]) << i;
    EXPECT_EQ(out.ok, expected_out[i]) << i;
    EXPECT_EQ(constants.ok, expected_c[i]) << i;
  }
  EXPECT_EQ(y, x);
  for (size_t i = 0; i < 12; i++) EXPECT_EQ(c[i], s.copy.constants[i % 4]);
  EXPECT_THROW(s.x.enqueue(nullptr, 4), Error);
  EXPECT_THROW(s.x.enqueue(x.data(), 0), Error);
}

TEST(QueueManager, TimeoutRequestsPadding) {
  int calls = 0;
  const float padding[] = {7, 7};
  Fixture s(
      4, 4,
      [&](InputStreamQueue& queue) {
        EXPECT_EQ(queue.anchor().name, "x");
        if (++calls >= 2) queue.enqueue(padding, 8);  // called again while the queue is empty
      },
      std::chrono::milliseconds(1));
  const float half[] = {1, 2};
  std::vector<float> y(4), c(4);
  s.x.enqueue(half, 8);
  s.y.enqueue(y.data(), 16);
  s.c.enqueue(c.data(), 16);
  s.session.run_main_programs();
  EXPECT_EQ(y, (std::vector<float>{1, 2, 7, 7}));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(s.x.counts().stalls, 1u);
}

TEST(QueueManager, NoTimeoutWhenItIsZero) {
  Fixture s(4, 4, [](InputStreamQueue&) { FAIL(); }, std::chrono::nanoseconds(0));
  std::vector<float> x(4, 3.f), y(4), c(4);
  s.y.enqueue(y.data(), 16);
  s.c.enqueue(c.data(), 16);
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    s.x.enqueue(x.data(), 16);
  });
  s.session.run_main_programs();
  late.join();
  EXPECT_EQ(y, x);
}

TEST(QueueManager, FlushGivesWaitingElementsBack) {
  Answers answers;
  Fixture s(4);
  std::vector<float> x(4), y(4);
  for (int i = 0; i < 3; i++) s.x.enqueue(x.data(), 16, answers.callback());
  s.y.enqueue(y.data(), 16, answers.callback());
  s.queues.flush_all();
  EXPECT_EQ(answers.cancelled, 4);
  EXPECT_EQ(answers.ok, 0);
  EXPECT_EQ(s.x.read_available(), 0u);
  EXPECT_TRUE(s.x.enqueue(x.data(), 16, answers.callback())) << "queues stay usable";
}

// An element serves many transfers, which are copied and used in place, and another thread flushes
// it between any of them.
TEST(QueueManager, FlushesBetweenTransfersOfOneElement) {
  Answers answers;
  Fixture s(1, 2);
  const std::vector<float> x(1000, 3.f);
  int accepted = 0;
  std::atomic<bool> done{false};
  std::thread producer([&] {
    while (s.x.enqueue(x.data(), 4000, answers.callback())) accepted++;
  });
  std::thread flusher([&] {
    while (!done) s.x.flush();
  });
  int right = 0;
  for (int i = 0; i < 400'000; i++) {
    float value = 0;
    const void* const in_place = i % 2 ? s.x.acquire() : nullptr;
    if (in_place)
      value = *static_cast<const float*>(in_place);
    else
      s.x.fetch(&value);
    s.x.complete();
    right += value == 3.f;
  }
  EXPECT_EQ(right, 400'000);
  done = true;
  flusher.join();
  s.queues.disconnect_all();
  producer.join();
  EXPECT_EQ(answers.ok + answers.cancelled, accepted) << "each exactly once";
}

TEST(QueueManager, DisconnectEndsProducersAndRuns) {
  Answers answers;
  Fixture s(4, 2);
  std::vector<float> x(4);
  std::atomic<int> accepted{0};
  std::thread producer([&] {
    while (s.x.enqueue(x.data(), 16, answers.callback())) accepted++;  // blocks when it is full
  });
  ErrorCode code = ErrorCode::ok;
  std::thread runner([&] {  // there is no memory for outputs
    try {
      s.session.run_main_programs();
    } catch (const Error& e) {
      code = e.code();
    }
  });
  while (accepted < 2) std::this_thread::yield();
  s.queues.disconnect_all();
  producer.join();
  runner.join();
  EXPECT_EQ(code, ErrorCode::cancelled);
  s.queues.flush_all();
  EXPECT_EQ(answers.cancelled + answers.ok, accepted) << "each exactly once";
  EXPECT_FALSE(s.x.enqueue(x.data(), 16));
}

TEST(QueueManager, StopEndsABlockedEnqueue) {
  Answers answers;
  Fixture s(4, 1);
  std::vector<float> x(4), y(4), c(4);
  std::atomic<int> accepted{0};
  std::thread producer([&] {
    while (s.x.enqueue(x.data(), 16, answers.callback())) accepted++;
  });
  while (accepted < 1) std::this_thread::yield();
  s.session.stop();
  producer.join();
  EXPECT_EQ(answers.ok + answers.cancelled, 0);
  // Waiting entries are still in the queue after a reload.
  s.session.reload();
  s.y.enqueue(y.data(), 16);
  s.c.enqueue(c.data(), 16);
  s.session.run_main_programs();
  EXPECT_EQ(answers.ok, 1);
}

// One queue and a list of its waiting entries. Its bytes are consecutive numbers.
class Driven {
 public:
  Driven(bool is_input, uint64_t bytes, unsigned seed)
      : random_(seed), bytes_(bytes), anchor_{"q", DType::u8, {static_cast<int64_t>(bytes)}} {
    if (is_input)
      input_ = std::make_unique<InputStreamQueue>(anchor_, kCapacity, nullptr,
                                                  std::chrono::nanoseconds(0));
    else
      output_ = std::make_unique<OutputStreamQueue>(anchor_, kCapacity);
  }
  StreamQueue& queue() {
    return input_ ? static_cast<StreamQueue&>(*input_) : static_cast<StreamQueue&>(*output_);
  }

  void step() {
    switch (random_() % 8) {
      case 0: flush(false); break;
      case 1: interrupted(); break;
      case 2: given_up(); break;
      case 3:
      case 4: transfer(random_() % 8 == 0); break;
      default: enqueue(1 + random_() % (2 * bytes_ + 2));
    }
    const QueueCounts c = queue().counts();
    ASSERT_EQ(answered_, wanted_);
    ASSERT_EQ(c.enqueued, elements_.size());
    ASSERT_EQ(c.finished, wanted_.size());
    ASSERT_EQ(c.high_water, high_water_);
    ASSERT_EQ(c.stalls, 0u);
    ASSERT_EQ(queue().read_available(), ring());
  }
  size_t transfers() const { return transfers_; }

 private:
  static constexpr size_t kCapacity = 4;
  struct Element {
    std::vector<uint8_t> memory;
    size_t at = 0;
    Driven* owner = nullptr;
    size_t number = 0;
  };
  using Answers = std::vector<std::pair<size_t, ErrorCode>>;

  // The entry that the device has begun is not counted.
  size_t ring() const { return waiting_.size() - (begun_ ? 1 : 0); }
  size_t left(const Element& e) const { return e.memory.size() - e.at; }

  void enqueue(size_t size) {
    if (ring() == kCapacity) return;
    auto e = std::make_unique<Element>();
    e->memory.resize(size);
    if (input_)
      for (uint8_t& b : e->memory) b = next_in_++;
    e->owner = this;
    e->number = elements_.size();
    const QueueCallback callback{[](void* context, ErrorCode code) noexcept {
                                   auto& element = *static_cast<Element*>(context);
                                   element.owner->answered_.emplace_back(element.number, code);
                                 },
                                 e.get()};
    ASSERT_TRUE(input_ ? input_->enqueue(e->memory.data(), size, callback)
                       : output_->enqueue(e->memory.data(), size, callback));
    waiting_.push_back(e.get());
    elements_.push_back(std::move(e));
    high_water_ = std::max<uint64_t>(high_water_, ring());
  }

  void flush(bool in_use) {
    queue().flush();
    const size_t keep = in_use ? 1 : 0;
    for (size_t i = keep; i < waiting_.size(); i++)
      wanted_.emplace_back(waiting_[i]->number, ErrorCode::cancelled);
    waiting_.resize(std::min(waiting_.size(), keep));
    begun_ = begun_ && in_use;
  }

  // The bytes of a transfer: input, or expected output.
  void exchange(void* p) {
    auto* const at = static_cast<uint8_t*>(p);
    const std::vector<uint8_t> wanted = input_ ? next_bytes() : std::vector<uint8_t>();
    for (uint64_t i = 0; i < bytes_; i++)
      if (input_)
        ASSERT_EQ(at[i], wanted[i]);
      else
        at[i] = next_in_++;
  }
  std::vector<uint8_t> next_bytes() const {
    std::vector<uint8_t> all;
    for (const Element* e : waiting_)
      all.insert(all.end(), e->memory.begin() + static_cast<std::ptrdiff_t>(e->at),
                 e->memory.end());
    return all;
  }
  void advance(size_t n) {
    while (n > 0) {
      Element& e = *waiting_.front();
      const size_t part = std::min(n, left(e));
      if (!input_)  // the available entries
        for (size_t i = 0; i < part; i++) ASSERT_EQ(e.memory[e.at + i], next_out_++);
      e.at += part;
      n -= part;
      begun_ = left(e) > 0;
      if (begun_) continue;
      wanted_.emplace_back(e.number, ErrorCode::ok);
      waiting_.pop_front();
    }
  }
  void transfer(bool flushed_meanwhile) {
    size_t there = 0;
    for (const Element* e : waiting_) there += left(*e);
    if (there < bytes_) return;
    Element& front = *waiting_.front();
    void* const in_place = left(front) >= bytes_ ? front.memory.data() + front.at : nullptr;
    ASSERT_EQ(queue().acquire(), in_place);
    begun_ = true;
    if (in_place) {
      exchange(in_place);
      if (flushed_meanwhile) flush(true);
    } else {
      std::vector<uint8_t> buffer(bytes_);
      if (output_) exchange(buffer.data());
      ASSERT_EQ(queue().fetch(buffer.data()), StreamCallback::Result::success);
      if (input_) exchange(buffer.data());
    }
    if (!in_place) advance(bytes_);
    queue().complete();
    if (in_place) advance(bytes_);
    transfers_++;
  }

  void interrupted() {
    queue().interrupt();
    std::vector<uint8_t> buffer(bytes_);
    ASSERT_EQ(queue().acquire(), nullptr);
    ASSERT_EQ(queue().fetch(buffer.data()), StreamCallback::Result::not_available);
    queue().resume();
  }
  // Memory that the device received but does not use.
  void given_up() {
    if (waiting_.empty() || left(*waiting_.front()) < bytes_) return;
    ASSERT_NE(queue().acquire(), nullptr);
    begun_ = true;
    queue().invalidate_prefetched();
  }

  std::mt19937 random_;
  const uint64_t bytes_;
  const program::Anchor anchor_;
  std::unique_ptr<InputStreamQueue> input_;
  std::unique_ptr<OutputStreamQueue> output_;
  std::vector<std::unique_ptr<Element>> elements_;
  std::deque<Element*> waiting_;
  bool begun_ = false;
  uint8_t next_in_ = 0, next_out_ = 0;
  uint64_t high_water_ = 0;
  size_t transfers_ = 0;
  Answers answered_, wanted_;
};

TEST(StreamQueue, MatchesAListOfElements) {
  for (const bool is_input : {true, false})
    for (const uint64_t bytes : {1, 3, 8})
      for (unsigned seed = 0; seed < 10; seed++) {
        Driven driven(is_input, bytes, seed);
        for (int i = 0; i < 300; i++) {
          driven.step();
          if (HasFatalFailure()) FAIL() << "input " << is_input << ", " << bytes << " bytes";
        }
        EXPECT_GT(driven.transfers(), 10u);
      }
}

// The memory belongs to the device until the end of the transfer. An element of two transfers then
// has a rest.
TEST(QueueManager, ADisconnectionReturnsTheElementOfATransferInPlaceAtItsEnd) {
  for (const bool completed : {false, true}) {
    Fixture s(4);
    std::vector<float> memory(8);
    Answers answers;
    ASSERT_TRUE(s.x.enqueue(memory.data(), 32, answers.callback()));
    StreamCallback& device = s.x;
    ASSERT_EQ(device.acquire(), memory.data());
    s.queues.disconnect_all();
    EXPECT_EQ(answers.ok + answers.cancelled, 0);
    if (completed)
      device.complete();
    else
      device.invalidate_prefetched();
    EXPECT_EQ(answers.ok, 0);
    EXPECT_EQ(answers.cancelled, 1);
    EXPECT_EQ(s.x.counts().finished, 1u);
  }
}

TEST(StreamQueue, AnElementNeedsMemory) {
  const program::Anchor anchor{"q", DType::u8, {4}};
  OutputStreamQueue queue(anchor, 2);
  char memory[4];
  const auto message_for = [&](void* data, uint64_t bytes) -> std::string {
    try {
      queue.enqueue(data, bytes);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      return e.message();
    }
    return "";
  };
  EXPECT_EQ(message_for(nullptr, 4), "queue 'q': an element needs memory, given 4 bytes at null");
  EXPECT_EQ(message_for(memory, 0),
            "queue 'q': an element needs memory, given 0 bytes at an address");
  EXPECT_EQ(queue.counts().enqueued, 0u);
}

TEST(QueueManager, EveryElementIsAnsweredOnceUnderLoad) {
  constexpr int kRuns = 3000;
  Fixture s(8, 8);
  Answers in, out;
  std::vector<float> x(8, 1.f), c(8);
  std::vector<std::array<float, 8>> y(kRuns);
  std::thread inputs([&] {
    for (int i = 0; i < kRuns; i++) {
      const uint64_t first = 4 * static_cast<uint64_t>(i % 8);
      if (first) ASSERT_TRUE(s.x.enqueue(x.data(), first, in.callback()));
      ASSERT_TRUE(s.x.enqueue(x.data(), 32 - first, in.callback()));
    }
  });
  std::thread outputs([&] {
    for (int i = 0; i < kRuns; i++) {
      ASSERT_TRUE(s.y.enqueue(y[static_cast<size_t>(i)].data(), 32, out.callback()));
      ASSERT_TRUE(s.c.enqueue(c.data(), 32, out.callback()));
    }
  });
  for (int i = 0; i < kRuns; i++) s.session.run_main_programs();
  inputs.join();
  outputs.join();
  EXPECT_EQ(in.ok, kRuns + kRuns / 8 * 7);
  EXPECT_EQ(out.ok, 2 * kRuns);
  EXPECT_EQ(s.x.counts().enqueued, s.x.counts().finished);
  EXPECT_GE(s.x.counts().high_water, 1u);
  for (const auto& row : y) EXPECT_EQ(row[7], 1.f);
}

}  // namespace
}  // namespace poprt::runtime

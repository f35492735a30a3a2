#include "runtime/ring_buffer.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace poprt::runtime {
namespace {

TEST(RingBuffer, CapacityIsAPowerOfTwo) {
  EXPECT_EQ(RingBuffer<int>(0).capacity(), 1u);
  EXPECT_EQ(RingBuffer<int>(1).capacity(), 1u);
  EXPECT_EQ(RingBuffer<int>(5).capacity(), 8u);
}

TEST(RingBuffer, FirstInFirstOutUntilFull) {
  RingBuffer<int> ring(4);
  for (int i = 0; i < 4; i++) EXPECT_TRUE(ring.try_push(i));
  EXPECT_FALSE(ring.try_push(4));
  EXPECT_EQ(ring.size(), 4u);
  for (int i = 0; i < 4; i++) {
    int value = -1;
    EXPECT_TRUE(ring.try_pop(value));
    EXPECT_EQ(value, i);
  }
  int value;
  EXPECT_FALSE(ring.try_pop(value));
  EXPECT_TRUE(ring.empty());
}

TEST(RingBuffer, BatchesStopAtTheEndOfTheStorage) {
  RingBuffer<int> ring(8);
  auto slots = ring.begin(6);
  ASSERT_EQ(slots.size(), 6u);
  for (int i = 0; i < 6; i++) slots[i] = i;
  EXPECT_TRUE(ring.empty());  // nothing before commit
  ring.commit(6);
  EXPECT_EQ(ring.peek().size(), 6u);
  ring.consume(5);
  EXPECT_EQ(ring.begin(6).size(), 2u);  // up to the end
  ring.commit(2);
  EXPECT_EQ(ring.begin(6).size(), 5u);  // from the start
  ring.commit(5);
  EXPECT_TRUE(ring.begin(1).empty());
  EXPECT_EQ(ring.peek().size(), 3u);
  EXPECT_EQ(ring.peek(2).size(), 2u);
  EXPECT_EQ(ring.peek()[0], 5);
}

TEST(RingBuffer, TwoThreadsSeeEveryElementOnceInOrder) {
  RingBuffer<uint64_t> ring(64);
  constexpr uint64_t kCount = 300'000;
  std::thread producer([&] {
    std::mt19937 rng(1);
    uint64_t next = 0;
    while (next < kCount) {
      auto slots = ring.begin(1 + rng() % 16);
      size_t n = 0;
      while (n < slots.size() && next < kCount) slots[n++] = next++;
      ring.commit(n);
      if (n == 0) std::this_thread::yield();
    }
  });
  std::mt19937 rng(2);
  uint64_t expected = 0;
  while (expected < kCount) {
    const auto front = ring.peek(1 + rng() % 16);
    for (const uint64_t value : front) ASSERT_EQ(value, expected++);
    ring.consume(front.size());
    if (front.empty()) std::this_thread::yield();
  }
  producer.join();
  EXPECT_TRUE(ring.empty());
}

}  // namespace
}  // namespace poprt::runtime

#include "runtime/queue/ring_buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <thread>
#include <vector>

#include "bench/streamed_ring.h"

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
  RingBuffer<uint64_t> ring(256);
  constexpr uint64_t kCount = 60'000;
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

template <size_t kBytes>
struct Element {
  std::array<uint64_t, kBytes / 8> words;
};

// A torn element would contain words of two elements.
template <size_t kBytes>
void travel_alone_and_together() {
  using E = Element<kBytes>;
  RingBuffer<E> ring(256);
  constexpr uint64_t kCount = 30'000;
  std::thread producer([&] {
    std::mt19937 rng(3);
    for (uint64_t i = 0; i < kCount;) {
      E e;
      e.words.fill(i);
      if (rng() % 4 == 0) {
        const auto slots = ring.begin(1 + rng() % 3);
        size_t n = 0;
        for (; n < slots.size() && i < kCount; n++) slots[n].words.fill(i++);
        ring.commit(n);
      } else if (ring.try_push(e)) {
        i++;
      }
      if (rng() % 64 == 0) std::this_thread::yield();
    }
  });
  std::mt19937 rng(4);
  for (uint64_t i = 0; i < kCount;) {
    E e;
    if (rng() % 8 == 0) {
      const auto front = ring.peek(2);
      for (const E& f : front) {
        for (const uint64_t w : f.words) ASSERT_EQ(w, i);
        i++;
      }
      ring.consume(front.size());
    } else if (ring.try_pop(e)) {
      for (const uint64_t w : e.words) ASSERT_EQ(w, i);
      i++;
    } else {
      std::this_thread::yield();
    }
  }
  producer.join();
  EXPECT_TRUE(ring.empty());
}

TEST(RingBuffer, ElementsOfAnySizeArriveWhole) {
  travel_alone_and_together<8>();
  travel_alone_and_together<24>();
  travel_alone_and_together<64>();
}

TEST(StreamedRing, AWriterShowsGroupsThatGrowAndEverythingWhenItFlushes) {
  StreamedRing<int> ring(64);
  StreamedRing<int>::Writer writer(ring);
  std::vector<size_t> seen;
  for (int i = 0; i < 8; i++) {
    ASSERT_TRUE(writer.try_push(i));
    seen.push_back(ring.size());
  }
  EXPECT_EQ(seen, (std::vector<size_t>{0, 1, 1, 3, 3, 3, 3, 7}));
  writer.flush();
  EXPECT_EQ(ring.size(), 8u);
  ASSERT_TRUE(writer.try_push(8));
  ASSERT_TRUE(writer.try_push(9));
  EXPECT_EQ(ring.size(), 9u) << "groups begin anew";
}

TEST(StreamedRing, AWriterThatFindsTheRingFullHasShownEverything) {
  StreamedRing<int> ring(4);
  StreamedRing<int>::Writer writer(ring);
  for (int i = 0; i < 4; i++) ASSERT_TRUE(writer.try_push(i));
  EXPECT_FALSE(writer.try_push(4));
  EXPECT_EQ(ring.size(), 4u);
  int value = -1;
  ASSERT_TRUE(ring.try_pop(value));
  EXPECT_EQ(value, 0);
  EXPECT_TRUE(writer.try_push(4));
}

TEST(StreamedRing, AReaderReleasesSlotsByQuartersAndAllIfNoneWaits) {
  StreamedRing<int> ring(64);
  for (int i = 0; i < 64; i++) ASSERT_TRUE(ring.try_push(i));
  StreamedRing<int>::Reader reader(ring);
  int value = -1;
  for (int i = 0; i < 40; i++) {
    ASSERT_TRUE(reader.try_pop(value));
    ASSERT_EQ(value, i);
  }
  EXPECT_EQ(ring.begin(64).size(), 32u);
  for (int i = 40; i < 64; i++) ASSERT_TRUE(reader.try_pop(value));
  EXPECT_FALSE(reader.try_pop(value));
  EXPECT_TRUE(ring.empty());
}

TEST(StreamedRing, WritersAndReadersEndWithEverythingShownAndGivenBack) {
  StreamedRing<int> ring(64);
  int value = -1;
  {
    StreamedRing<int>::Writer writer(ring);
    for (int i = 0; i < 3; i++) ASSERT_TRUE(writer.try_push(i));
  }
  EXPECT_EQ(ring.size(), 3u);
  ASSERT_TRUE(ring.try_push(3)) << "other calls continue while a writer waits";
  {
    StreamedRing<int>::Reader reader(ring);
    for (int i = 0; i < 2; i++) ASSERT_TRUE(reader.try_pop(value));
  }
  EXPECT_EQ(ring.size(), 2u);
  for (int i = 2; i < 4; i++) {
    ASSERT_TRUE(ring.try_pop(value));
    EXPECT_EQ(value, i);
  }
}

// Writers, readers and the other calls take turns on either side.
template <size_t kBytes>
void travel_in_streams() {
  using E = Element<kBytes>;
  using Ring = StreamedRing<E>;
  Ring ring(256);
  constexpr uint64_t kCount = 60'000;
  std::thread producer([&] {
    std::mt19937 rng(5);
    for (uint64_t i = 0; i < kCount;) {
      const uint64_t end = std::min(kCount, i + rng() % 2000);
      E e;
      if (rng() % 4 == 0) {
        for (; i < end; i++) {
          e.words.fill(i);
          while (!ring.try_push(e)) std::this_thread::yield();
        }
        continue;
      }
      typename Ring::Writer writer(ring);
      for (; i < end; i++) {
        e.words.fill(i);
        while (!writer.try_push(e)) std::this_thread::yield();
        if (rng() % 256 == 0) writer.flush();
      }
    }
  });
  std::mt19937 rng(6);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < kCount;) {
    const uint64_t end = std::min(kCount, i + rng() % 2000);
    E e;
    const auto expect = [&](auto&& pop) {
      for (; i < end; i++) {
        while (!pop(e)) std::this_thread::yield();
        for (const uint64_t w : e.words) wrong += w != i;
      }
    };
    if (rng() % 4 == 0) {
      expect([&](E& to) { return ring.try_pop(to); });
    } else {
      typename Ring::Reader reader(ring);
      expect([&](E& to) { return reader.try_pop(to); });
    }
  }
  producer.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_TRUE(ring.empty());
}

TEST(StreamedRing, StreamsOfAnySizeArriveWholeAndInOrder) {
  travel_in_streams<8>();
  travel_in_streams<24>();
  travel_in_streams<64>();
  travel_in_streams<1024>();
}

// After many elements at once, a side first reads the index that the other side writes only at
// intervals. A single element or slot must be found nevertheless.
TEST(RingBuffer, AfterAStreamASingleElementAndASingleSlotAreSeenAtOnce) {
  RingBuffer<int> ring(1024);
  int value = -1;
  for (int round = 0; round < 3; round++) {
    int pushed = 0;
    while (ring.try_push(pushed)) pushed++;
    ASSERT_EQ(pushed, 1024);
    ASSERT_TRUE(ring.try_pop(value));
    EXPECT_EQ(value, 0);
    ASSERT_TRUE(ring.try_push(1024)) << "one slot was given back";
    ASSERT_FALSE(ring.try_push(1025));
    for (int i = 1; i <= 1024; i++) {
      ASSERT_TRUE(ring.try_pop(value));
      ASSERT_EQ(value, i);
    }
    ASSERT_TRUE(ring.try_push(7));
    ASSERT_TRUE(ring.try_pop(value)) << "one element was pushed";
    EXPECT_EQ(value, 7);
    EXPECT_FALSE(ring.try_pop(value));
    ring.begin(3)[2] = 9;
    ring.commit(3);
    ASSERT_GE(ring.peek(3).size(), 1u);
    while (ring.try_pop(value)) continue;
    EXPECT_EQ(value, 9);
  }
}

TEST(RingBuffer, CommitOfZeroElementsHasNoEffect) {
  RingBuffer<int> ring(2);
  ring.commit(0);
  EXPECT_TRUE(ring.empty());
  EXPECT_TRUE(ring.peek().empty());
  ring.consume(0);
  EXPECT_TRUE(ring.try_push(7));
  EXPECT_EQ(ring.peek()[0], 7);
}

TEST(RingBuffer, ACapacityOfOneAlternatesBetweenWriterAndReader) {
  RingBuffer<int> ring(1);
  for (int i = 0; i < 100; i++) {
    EXPECT_TRUE(ring.try_push(i));
    EXPECT_FALSE(ring.try_push(-1));
    int value = -1;
    EXPECT_TRUE(ring.try_pop(value));
    EXPECT_EQ(value, i);
    EXPECT_FALSE(ring.try_pop(value));
  }
}

}  // namespace
}  // namespace poprt::runtime

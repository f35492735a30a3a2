#include "ipu/first_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "ipu/numbers.h"

namespace poprt::ipu {
namespace {

// Compares each new block with all blocks.
class Plain {
 public:
  int64_t place(size_t first, size_t last, int64_t bytes) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const Block& b : placed_)
      if (b.first <= last && first <= b.last) taken.emplace_back(b.begin, b.end);
    std::ranges::sort(taken);
    int64_t begin = 0;
    for (const auto& [from, to] : taken) {
      if (from - begin >= bytes) break;
      begin = std::max(begin, to);
    }
    placed_.push_back({first, last, begin, begin + round_up(bytes, 8)});
    return begin;
  }

 private:
  struct Block {
    size_t first, last;
    int64_t begin, end;
  };
  std::vector<Block> placed_;
};

TEST(FirstFit, AddressesAreTheLowestFreeOnes) {
  FirstFit memory(4);
  EXPECT_EQ(memory.place(0, 1, 8), 0);
  EXPECT_EQ(memory.place(1, 2, 8), 8);
  EXPECT_EQ(memory.place(2, 3, 8), 0);
  EXPECT_EQ(memory.place(0, 3, 5), 16);
  EXPECT_EQ(memory.place(0, 0, 8), 8);
  EXPECT_EQ(memory.place(0, 3, 0), 0) << "no bytes are free everywhere";
  EXPECT_EQ(memory.place(0, 3, 1), 24);
}

TEST(FirstFit, RandomIntervalsGetTheAddressesOfAComparisonWithAll) {
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (int trial = 0; trial < 300; trial++) {
    const size_t operations = 1 + below(trial % 3 == 0 ? 9 : 200);
    // Short intervals, long ones, or both.
    const size_t longest = 1 + below(operations);
    const bool sorted = trial % 2 == 0;
    struct Wanted {
      size_t first, last;
      int64_t bytes;
    };
    std::vector<Wanted> wanted(below(400));
    for (Wanted& w : wanted) {
      w.first = below(operations);
      w.last = std::min(operations - 1, w.first + below(below(4) ? 3 : longest));
      w.bytes = static_cast<int64_t>(below(trial % 5 == 0 ? 9 : 5000));
    }
    if (sorted) std::ranges::sort(wanted, std::greater(), &Wanted::bytes);
    FirstFit memory(operations);
    Plain plain;
    for (const Wanted& w : wanted)
      ASSERT_EQ(memory.place(w.first, w.last, w.bytes), plain.place(w.first, w.last, w.bytes))
          << trial << ": " << w.first << " to " << w.last << ", " << w.bytes;
  }
}

}  // namespace
}  // namespace poprt::ipu

#include "runtime/runner/pack_layout.h"

#include <gtest/gtest.h>

#include <random>

namespace poprt::runtime {
namespace {

constexpr int64_t kNone = -1;

std::vector<int64_t> offsets(PackLayout layout, std::vector<uint64_t> lengths) {
  std::vector<int64_t> list;
  for (const uint64_t n : lengths) {
    const auto place = layout.place(n);
    list.push_back(place ? static_cast<int64_t>(place->offset) : kNone);
  }
  return list;
}

TEST(PackLayout, NextFitContinuesAtTheLastRow) {
  // Rows have 8 places. The item of 2 would fit into row 0, but row 1 has begun.
  EXPECT_EQ(offsets({3, 8, PackAlgorithm::next_fit, false, 0}, {5, 6, 2, 3, 4, 2}),
            (std::vector<int64_t>{0, 8, 14, 16, 19, kNone}));
}

TEST(PackLayout, TheLongestDelimiterLeavesNoRoomForASecondItem) {
  for (const uint64_t delimiter : {UINT64_MAX, UINT64_MAX - 3, uint64_t{6}}) {
    EXPECT_EQ(offsets({2, 8, PackAlgorithm::first_fit, false, delimiter}, {3, 3, 1}),
              (std::vector<int64_t>{0, 8, kNone}));
    EXPECT_EQ(offsets({1, 8, PackAlgorithm::next_fit, true, delimiter}, {3, 1}),
              (std::vector<int64_t>{0, kNone}));
  }
}

TEST(PackLayout, FirstFitExaminesAllRows) {
  EXPECT_EQ(offsets({3, 8, PackAlgorithm::first_fit, false, 0}, {5, 6, 2, 3, 4, 2}),
            (std::vector<int64_t>{0, 8, 5, 16, 19, 14}));
}

TEST(PackLayout, AcrossRowsItemsAreContiguous) {
  EXPECT_EQ(offsets({2, 8, PackAlgorithm::first_fit, true, 0}, {5, 6, 6, 5}),
            (std::vector<int64_t>{0, 5, kNone, 11}));
}

TEST(PackLayout, DelimitersLieBetweenItemsOnly) {
  EXPECT_EQ(offsets({2, 8, PackAlgorithm::next_fit, false, 1}, {3, 4, 1, 6, 1}),
            (std::vector<int64_t>{0, 4, 8, 10, kNone}));
  EXPECT_EQ(offsets({1, 8, PackAlgorithm::next_fit, false, 2}, {8}), (std::vector<int64_t>{0}));
}

TEST(PackLayout, CountsItemsOfARow) {
  PackLayout layout(2, 8, PackAlgorithm::first_fit, false, 0);
  EXPECT_EQ(layout.place(4)->number, 1u);
  EXPECT_EQ(layout.place(5)->number, 1u);
  const auto third = layout.place(4);
  EXPECT_EQ(third->number, 2u);
  EXPECT_EQ(third->row, 0u);
  layout.clear();
  EXPECT_EQ(layout.place(8)->offset, 0u);
  EXPECT_FALSE(layout.place(9));
}

TEST(PackLayout, NeverOverlapsAndNeverLeavesItsRow) {
  std::mt19937 rng(5);
  for (int round = 0; round < 300; round++) {
    const uint64_t rows = 1 + rng() % 5, length = 1 + rng() % 20, delimiter = rng() % 3;
    const bool across = rng() % 2;
    PackLayout layout(rows, length, rng() % 2 ? PackAlgorithm::first_fit : PackAlgorithm::next_fit,
                      across, delimiter);
    std::vector<int> used(rows * length);
    for (int i = 0; i < 30; i++) {
      const uint64_t n = 1 + rng() % (length + 2);
      const auto place = layout.place(n);
      if (!place) continue;
      ASSERT_LE(place->offset + n, used.size());
      if (!across) {
        ASSERT_EQ(place->offset / length, place->row);
        ASSERT_EQ((place->offset + n - 1) / length, place->row);
      }
      for (uint64_t k = 0; k < n; k++) ASSERT_EQ(used[place->offset + k]++, 0);
      const uint64_t row_start = across ? 0 : place->row * length;
      for (uint64_t k = 1; k <= delimiter && place->offset >= row_start + k; k++)
        ASSERT_EQ(used[place->offset - k], 0);
    }
  }
}

}  // namespace
}  // namespace poprt::runtime

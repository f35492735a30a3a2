#include "base/random_seed.h"

#include <gtest/gtest.h>

#include <set>

namespace {

TEST(RandomSeed, DiffersBetweenCalls) {
  std::set<uint64_t> seeds;
  uint64_t seen_ones = 0, seen_zeros = 0;
  for (int i = 0; i < 1000; i++) {
    const uint64_t seed = poprt::random_seed();
    seeds.insert(seed);
    seen_ones |= seed;
    seen_zeros |= ~seed;
  }
  EXPECT_EQ(seeds.size(), 1000u);
  EXPECT_EQ(seen_ones, ~uint64_t{0}) << "every bit is 1 at times";
  EXPECT_EQ(seen_zeros, ~uint64_t{0}) << "every bit is 0 at times";
}

}  // namespace

// The parameter of each element of a tensor that is quantised by axis, in blocks, or as a whole.
#include "kernels/common/quantization.h"

#include <gtest/gtest.h>

#include <random>

namespace poprt::kernels {
namespace {

// The grid of the call: see calls/common/quantization_grid.h.
int64_t parameter_of(const calls::QuantizationGrid& g, int64_t element) {
  const int64_t i = element % g.inner, a = element / g.inner % g.n, o = element / g.inner / g.n;
  if (g.block == 0) return g.per_axis ? a : 0;
  const int64_t blocks = (g.n + g.block - 1) / g.block;
  return (o * blocks + a / g.block) * g.inner + i;
}

void expect_runs(const calls::QuantizationGrid& call, int64_t first, int64_t count) {
  const QuantizationGrid grid = make_grid(call);
  int64_t next = first;
  grid.each_run(first, count, [&](int64_t element, int64_t n, int64_t parameter, bool many) {
    EXPECT_EQ(element, next);
    EXPECT_GT(n, 0);
    EXPECT_LE(n, QuantizationGrid::kRun);
    for (int64_t k = 0; k < n; k++)
      EXPECT_EQ(parameter + (many ? k : 0), parameter_of(call, element + k))
          << call.outer << " " << call.n << " " << call.inner << " block " << call.block << " at "
          << element + k;
    next = element + n;
  });
  EXPECT_EQ(next, first + count);
}

TEST(QuantizationGrid, RunsHaveTheirParameters) {
  std::mt19937 random(9);
  for (int round = 0; round < 500; round++) {
    calls::QuantizationGrid g;
    g.outer = 1 + random() % 4;
    g.n = 1 + random() % 9;
    g.inner = random() % 2 ? 1 : 1 + random() % 7;
    g.block = random() % 3 ? 0 : 1 + random() % 5;
    g.per_axis = random() % 2;
    const int64_t all = g.outer * g.n * g.inner;
    const auto first = static_cast<int64_t>(random() % static_cast<uint64_t>(all));
    expect_runs(g, 0, all);
    expect_runs(g, first, static_cast<int64_t>(random() % static_cast<uint64_t>(all - first + 1)));
    if (HasFailure()) FAIL() << round;
  }
}

TEST(QuantizationGrid, LongRunsAreCut) {
  for (const int64_t block : {0, 1, 700, 5000})
    for (const bool per_axis : {false, true}) {
      expect_runs({.outer = 2, .n = 1500, .inner = 1, .block = block, .per_axis = per_axis}, 3,
                  2900);
      expect_runs({.outer = 1, .n = 3, .inner = 1100, .block = block, .per_axis = per_axis}, 0,
                  3300);
    }
}

TEST(QuantizationGrid, HasTheParametersThatTheCallStates) {
  const auto parameters = [](calls::QuantizationGrid g) { return make_grid(g).parameters; };
  EXPECT_EQ(parameters({2, 7, 3, 0, false}), 1);
  EXPECT_EQ(parameters({2, 7, 3, 0, true}), 7);
  EXPECT_EQ(parameters({2, 7, 3, 2, false}), 2 * 4 * 3);
  EXPECT_EQ(parameters({2, 7, 3, 7, true}), 2 * 1 * 3);
  EXPECT_EQ(parameters({2, 7, 3, 1, false}), 2 * 7 * 3);
  EXPECT_EQ(make_grid({2, 7, 3, 2, false}).count(), 42);
}

TEST(QuantizationGrid, KnowsTheTypesThatHaveAVectorForm) {
  isa::Whole whole{};
  for (const auto& [type, wanted] :
       {std::pair(DType::s8, isa::Whole::s8), std::pair(DType::u8, isa::Whole::u8),
        std::pair(DType::s16, isa::Whole::s16), std::pair(DType::u16, isa::Whole::u16),
        std::pair(DType::s32, isa::Whole::s32)}) {
    EXPECT_TRUE(whole_type(type, &whole));
    EXPECT_EQ(whole, wanted);
  }
  for (const DType type : {DType::u32, DType::s64, DType::f32, DType::s4})
    EXPECT_FALSE(whole_type(type, &whole)) << dtype_name(type);
}

}  // namespace
}  // namespace poprt::kernels

#include "ipu/reduce_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ipu/planner.h"

namespace poprt::ipu {
namespace {

TEST(ReducePlan, FewPartialResultsAreSummedInOneStage) {
  EXPECT_EQ(reduce_depths(1, true), ReduceDepths({0, 0, 0}));
  EXPECT_EQ(reduce_depths(2, true), ReduceDepths({2, 0, 0}));
  EXPECT_EQ(reduce_depths(15, true), ReduceDepths({15, 0, 0}));
}

TEST(ReducePlan, ManyPartialResultsAreSummedInTwoOrThreeStages) {
  EXPECT_EQ(reduce_depths(16, true), ReduceDepths({4, 4, 0}));
  EXPECT_EQ(reduce_depths(32, true), ReduceDepths({6, 6, 0}));
  EXPECT_EQ(reduce_depths(125, true), ReduceDepths({5, 5, 5}));
}

TEST(ReducePlan, OneStageWithoutTheOption) {
  EXPECT_EQ(reduce_depths(1472, false), ReduceDepths({1472, 0, 0}));
}

// The sums of all stages contain every partial result.
TEST(ReducePlan, StagesCoverTheDepth) {
  for (int64_t depth = 2; depth <= 1472; depth++) {
    int64_t product = 1;
    for (const int64_t d : reduce_depths(depth, true)) product *= std::max<int64_t>(d, 1);
    EXPECT_GE(product, depth);
    EXPECT_LT(product, 2 * depth);
  }
}

TEST(ReducePlan, StagesTakeMoreSyncsAndFewerMessages) {
  const Target& t = target_of("mk2");
  Product p;
  p.matmul = true;
  p.batch = 16;
  p.in = 16 * 64;
  p.out = 64;
  Split split;
  split.in = 64;
  const auto cost = [&](bool several) {
    PlanOptions options;
    options.multi_stage_reduce = several;
    return plan_with(t, p, options, Method::amp, split).cost;
  };
  const PlanCost one = cost(false), two = cost(true);
  EXPECT_EQ(one.stages[0].depth, 64);
  EXPECT_EQ(one.stages[1].depth, 0);
  EXPECT_EQ(two.stages[0].depth, 8);
  EXPECT_EQ(two.stages[1].depth, 8);
  // Each of two exchanges has a sync of 150 cycles.
  EXPECT_EQ(two.reduce_exchange, two.stages[0].exchange + two.stages[1].exchange + 2 * 150);
  EXPECT_EQ(one.reduce_exchange, one.stages[0].exchange + 150);
}

}  // namespace
}  // namespace poprt::ipu

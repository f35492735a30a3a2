#include "ipu/lowering.h"

#include <gtest/gtest.h>

namespace poprt::ipu {
namespace {

struct Chip {
  Target target = target_of("c600");
  ChipOptions options;
  PlanCache plans{target, {}};
  Lowering lowering{target, options, plans};
};

TEST(Lowering, SpreadsATensorInPiecesOfAtLeast128Bytes) {
  Chip c;
  EXPECT_EQ(c.lowering.share(DType::f16, 640), 64);
  EXPECT_EQ(c.lowering.spread(DType::f16, 640), 10);
  EXPECT_EQ(c.lowering.share(DType::f16, 1472 * 1000), 1000);
  EXPECT_EQ(c.lowering.spread(DType::f16, 1472 * 1000), 1472);
  EXPECT_EQ(c.lowering.share(DType::f16, 3), 3);
}

TEST(Lowering, SoftmaxHasEightSupersteps) {
  Chip c;
  c.lowering.softmax(DType::f16, 12 * 128, 128);
  EXPECT_EQ(c.lowering.take().steps.size(), 8u);
}

TEST(Lowering, SoftmaxWithoutAMaximumHasFiveSupersteps) {
  Chip c;
  c.options.stable_softmax = false;
  c.lowering.softmax(DType::f16, 12 * 128, 128);
  EXPECT_EQ(c.lowering.take().steps.size(), 5u);
}

TEST(Lowering, LayerNormalizationHasEightSupersteps) {
  Chip c;
  c.lowering.normalize(DType::f16, 2048 * 768, 2048, 768);
  EXPECT_EQ(c.lowering.take().steps.size(), 8u);
}

TEST(Lowering, AnOperandOnOtherTilesIsExchanged) {
  Chip c;
  c.lowering.elementwise(Elementwise::add, DType::f16, 1 << 20, 2);
  const OpCost here = c.lowering.take();
  c.lowering.align(DType::f16, 1 << 20);
  c.lowering.elementwise(Elementwise::add, DType::f16, 1 << 20, 2);
  const OpCost there = c.lowering.take();
  EXPECT_EQ(here.steps[0].exchange, 0);
  EXPECT_EQ(there.steps[0].exchange_bytes, 2 * c.lowering.share(DType::f16, 1 << 20));
  EXPECT_EQ(there.cycles() - here.cycles(), there.steps[0].exchange_bytes / 4);
}

// A tile that receives short pieces from several tiles waits for each after the first one.
TEST(Lowering, ShortPiecesOfAnExchangeCostMoreThanTheirBytes) {
  Chip chip;
  const int64_t n = 1472 * 512;  // 1024 bytes on a tile
  const auto exchange = [&](int64_t piece, int64_t stride) {
    chip.lowering.rearrange(DType::f16, n, piece, stride);
    return chip.lowering.take().steps.at(0).exchange;
  };
  const int64_t plain = 1024 / 4;
  EXPECT_EQ(exchange(128, 0), plain);                   // the runs are neighbours in the input
  EXPECT_EQ(exchange(128, 12 * 128), plain + 7 * 160);  // 8 runs, on 8 tiles
  EXPECT_EQ(exchange(8, 6 * 8), plain + 5 * 160);       // 128 runs, on 6 tiles
  EXPECT_EQ(exchange(8, 4 * 8), plain);                 // 4 tiles send 256 bytes each
  EXPECT_EQ(exchange(512, 100 * 512), plain);           // 2 runs of 512 bytes
}

TEST(Lowering, ALoopRepeatsItsSupersteps) {
  Chip c;
  c.lowering.begin_repeat(25);
  c.lowering.elementwise(Elementwise::tanh, DType::f16, 4096);
  c.lowering.end_repeat(25);
  const OpCost loop = c.lowering.take();
  c.lowering.elementwise(Elementwise::tanh, DType::f16, 4096);
  EXPECT_EQ(loop.cycles(), 25 * c.lowering.take().cycles());
}

TEST(Lowering, AProductHasTheCyclesOfItsPlanAndTheControlOfItsSteps) {
  Chip c;
  Product p;
  p.matmul = true;
  p.batch = 2048;
  p.in = p.out = 768;
  const Plan& plan = c.lowering.product(p);
  const OpCost cost = c.lowering.take();
  int64_t cycles = 0;
  for (const Superstep& s : cost.steps) cycles += s.cycles() - s.overhead;
  // The plan counts a sync for each of the exchanges of inputs and weights.
  EXPECT_NEAR(static_cast<double>(cycles), static_cast<double>(plan.cost.total), 310);
  EXPECT_EQ(cost.temporary_bytes, plan.cost.temporary_bytes);
}

TEST(Lowering, AGatherOfManyRowsLooksEachUpOnce) {
  Chip c;
  c.lowering.gather(DType::f16, 30522, 768, 2048);
  const int64_t few = c.lowering.take().cycles();
  c.lowering.gather(DType::f16, 30522, 768, 16384);
  const int64_t many = c.lowering.take().cycles();
  EXPECT_GT(many, 4 * few);
  EXPECT_LT(many, 12 * few);
}

TEST(Lowering, AScatterCopiesTheTensorAndReplacesItsRows) {
  Chip c;
  c.lowering.scatter(DType::f16, 1472 * 1000, 8, 64);
  const OpCost cost = c.lowering.take();
  ASSERT_EQ(cost.steps.size(), 2u);
  EXPECT_EQ(cost.steps[0].exchange_bytes, 0);
  EXPECT_EQ(cost.steps[0].tiles, 1472);
  // A tile receives all indices of 4 bytes, and one vector of 4 halves of one row.
  EXPECT_EQ(cost.steps[1].exchange_bytes, 4 * 64 + 4 * 2);
  EXPECT_EQ(cost.steps[1].tiles, 1472);
  EXPECT_EQ(cost.steps[0].compute, copy_cycles(c.target, 2 * 1000, 8));
  EXPECT_EQ(cost.steps[1].compute, gather_cycles(c.target, DType::f16, 4, 64, 1));
}

// If a row has more vectors than there are tiles, each tile has a part of all rows.
TEST(Lowering, AScatterOfWideRowsSpreadsEachOverAllTiles) {
  Chip c;
  c.lowering.scatter(DType::f16, 1472 * 1000, 1472 * 8, 64);
  const Superstep wide = c.lowering.take().steps.at(1);
  EXPECT_EQ(wide.exchange_bytes, 4 * 64 + 64 * 8 * 2);
  EXPECT_EQ(wide.compute, gather_cycles(c.target, DType::f16, 8, 64, 64));
  c.lowering.scatter(DType::f16, 1472 * 1000, 0, 64);
  const OpCost of_nothing = c.lowering.take();
  c.lowering.scatter(DType::f16, 1472 * 1000, 1, 64);
  EXPECT_EQ(of_nothing.cycles(), c.lowering.take().cycles()) << "a row has at least one element";
}

TEST(Lowering, EmptyTensorsCostNothing) {
  Chip c;
  c.lowering.softmax(DType::f16, 0, 128);
  c.lowering.elementwise(Elementwise::add, DType::f16, 0, 2);
  c.lowering.gather(DType::f16, 100, 8, 0);
  c.lowering.pool(DType::f16, 0, 10, 9, 0);
  c.lowering.scatter(DType::f16, 0, 8, 4);
  c.lowering.scatter(DType::f16, 800, 8, 0);
  EXPECT_EQ(c.lowering.take().cycles(), 0);
}

}  // namespace
}  // namespace poprt::ipu

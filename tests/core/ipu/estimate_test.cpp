#include "ipu/estimate.h"

#include <gtest/gtest.h>

namespace poprt::ipu {
namespace {

ChipProgram products(size_t count) {
  ChipProgram p;
  for (size_t i = 0; i < count; i++) {
    ChipTensor w;
    w.name = "w" + std::to_string(i);
    w.kind = TensorKind::weight;
    w.bytes = 1472 * 1000;
    w.share = 1000;
    w.tiles = 1472;
    p.tensors.push_back(w);
    ChipOp op;
    op.type = "MatMul";
    op.name = "m" + std::to_string(i);
    op.inputs = {i};
    Superstep s;
    s.what = "AMP";
    s.sync = 150;
    s.exchange = 1000;
    s.compute = 2000;
    s.tiles = 1472;
    op.cost.steps = {s};
    p.ops.push_back(op);
  }
  p.samples = 4;
  return p;
}

TEST(Estimate, AddsTheCyclesOfEveryPhase) {
  const Estimate e = estimate_of(products(10), target_of("c600"), {});
  EXPECT_EQ(e.cycles, 31500);
  EXPECT_EQ(e.sync_cycles, 1500);
  EXPECT_EQ(e.exchange_cycles, 10000);
  EXPECT_EQ(e.compute_cycles, 20000);
  EXPECT_DOUBLE_EQ(e.tile_balance, 1);
  EXPECT_TRUE(e.fits());
}

TEST(Estimate, TransfersOverlapOnlyWithIoTilesAndSeveralBatches) {
  ChipProgram p = products(10);
  p.input_bytes = 80'000'000;  // 10 ms
  ChipOptions o;
  const double alone = estimate_of(p, target_of("c600"), o).period_seconds;
  o.num_io_tiles = 32;
  o.batches_per_step = 1024;
  const double overlapped = estimate_of(p, target_of("c600"), o).period_seconds;
  EXPECT_GT(alone, 0.010);
  EXPECT_NEAR(overlapped, 0.010, 0.0005);
}

TEST(Estimate, IpusGetEqualPartsOfTheWeights) {
  ChipProgram p = products(12);
  ChipOptions o;
  o.num_ipus = 4;
  assign_ipus(p, target_of("c600"), o);
  for (size_t i = 0; i < p.ops.size(); i++) EXPECT_EQ(p.ops[i].ipu, static_cast<int64_t>(i / 3));
  const Estimate e = estimate_of(p, target_of("c600"), o);
  EXPECT_EQ(e.stage_cycles, (std::vector<int64_t>{9450, 9450, 9450, 9450}));
  EXPECT_EQ(e.cycle_quality.trust, Trust::unchecked);
}

TEST(Estimate, OnlyWhatIsMeasuredIsChecked) {
  const auto trust = [](const char* target, const auto& change) {
    ChipProgram p = products(3);
    for (ChipOp& op : p.ops) op.cost.plan = Plan{};
    change(p);
    return estimate_of(p, target_of(target), {}).cycle_quality.trust;
  };
  const auto nothing = [](ChipProgram&) {};
  EXPECT_EQ(trust("c600", nothing), Trust::checked);
  EXPECT_EQ(trust("mk2", nothing), Trust::checked);
  EXPECT_EQ(trust("mk2", [](ChipProgram& p) { p.ops[0].cost.plan.reset(); }), Trust::unchecked);
  EXPECT_EQ(trust("c600", [](ChipProgram& p) { p.ops[1].cost.steps[0].repeats = 25; }),
            Trust::unchecked);
  EXPECT_EQ(
      trust("c600", [](ChipProgram& p) { p.ops[1].cost.plan->product.inputs = DType::f8_143; }),
      Trust::unchecked);
  EXPECT_EQ(trust("c600",
                  [](ChipProgram& p) {
                    p.ops[1].cost.plan->product.groups = 32;
                    p.ops[1].cost.plan->product.kernel_width = 3;
                  }),
            Trust::unchecked);
}

TEST(Estimate, NamesEachOperatorWithoutARuleOnce) {
  ChipProgram p = products(3);
  p.ops[0].cost.has_rule = p.ops[1].cost.has_rule = false;
  p.ops[0].type = p.ops[1].type = "Mystery";
  const Estimate e = estimate_of(p, target_of("c600"), {});
  EXPECT_EQ(e.without_rule, std::vector<std::string>{"Mystery"});
  EXPECT_EQ(e.cycle_quality.trust, Trust::unchecked);
}

}  // namespace
}  // namespace poprt::ipu

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

// The device computes for 21 us; a transfer takes 80 us; the host prepares a call in 110 us, which
// is 130 us of a call that runs alone, less the 20 us that nothing hides.
TEST(Estimate, PrefetchHidesTheWorkOfTheHostAndASecondBufferAlsoDuringTransfers) {
  ChipProgram p = products(10);
  p.input_bytes = 640'000;
  const Target& t = target_of("c600");
  const auto waits = [&](bool prefetch, int64_t buffers, int64_t io_tiles, int64_t batches) {
    ChipOptions o;
    o.prefetch = prefetch;
    o.stream_buffers = buffers;
    o.num_io_tiles = io_tiles;
    o.batches_per_step = batches;
    const Estimate e = estimate_of(p, t, o);
    EXPECT_LE(e.wait_seconds, e.fill_seconds + 1e-12);
    EXPECT_GE(e.period_seconds, e.host_seconds + e.wait_seconds - 1e-12);
    EXPECT_LE(e.period_seconds, e.latency_seconds + 1e-12);
    return 1e6 * e.wait_seconds;
  };
  EXPECT_NEAR(waits(false, 1, 0, 1), 110, 0.01);
  EXPECT_NEAR(waits(false, 2, 0, 1), 110, 0.01);  // buffers without prefetch are filled too late
  EXPECT_NEAR(waits(true, 1, 0, 1), 110 - 21, 0.01);
  EXPECT_NEAR(waits(true, 2, 0, 1), 110 - 101, 0.01);
  EXPECT_NEAR(waits(true, 3, 0, 1), 110 - 101, 0.01);
  EXPECT_NEAR(waits(true, 1, 0, 110), 0, 0.01);  // one call for 110 batches
  EXPECT_NEAR(waits(false, 1, 32, 110), 1, 0.01);
  EXPECT_NEAR(waits(true, 1, 32, 110), 1, 0.01);
  EXPECT_NEAR(waits(true, 2, 32, 110), 0, 0.01);
}

// Copies of the program compute different batches, and their transfers share the host.
TEST(Estimate, ReplicasMultiplyTheThroughputUntilTheHostLimitsIt) {
  ChipProgram p = products(1000);  // 2.1 ms
  p.input_bytes = 800'000;
  ChipOptions o;
  o.num_io_tiles = 32;
  o.batches_per_step = 128;
  o.stream_buffers = 2;
  const Target& t = target_of("c600");
  const double one = estimate_of(p, t, o).throughput;
  o.replicas = 4;
  const Estimate four = estimate_of(p, t, o);
  EXPECT_NEAR(four.throughput / one, 4, 0.01);
  EXPECT_NEAR(four.host_seconds, 4e-4, 1e-9);
  EXPECT_EQ(four.cycles, estimate_of(p, t, {}).cycles + four.io_cycles);
  o.replicas = 64;
  const Estimate many = estimate_of(p, t, o);
  EXPECT_NEAR(many.throughput, 4 * 8e9 / 800'000, 400);  // 4 samples in a batch, 8 GB/s
  EXPECT_EQ(many.memory[0].bytes, four.memory[0].bytes);
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

// The weights need little memory, so the cycles decide: 9 of 12 parts are those of the first
// operation. Values that are computed and views of weights are not counted, however large.
TEST(Estimate, OnlyTheBytesOfWeightsDecideWhetherBytesOrCyclesAreDivided) {
  ChipProgram p = products(4);
  const Superstep step = p.ops[0].cost.steps[0];
  p.ops[0].cost.steps.assign(9, step);
  ChipTensor computed, view;
  computed.bytes = view.bytes = int64_t{1} << 40;
  view.kind = TensorKind::weight;
  view.alias_of = 0;
  for (const auto& other : {std::vector<ChipTensor>{}, {computed}, {view}}) {
    ChipProgram with = p;
    with.tensors.insert(with.tensors.end(), other.begin(), other.end());
    ChipOptions o;
    o.num_ipus = 2;
    assign_ipus(with, target_of("c600"), o);
    std::vector<int64_t> ipus;
    for (const ChipOp& op : with.ops) ipus.push_back(op.ipu);
    EXPECT_EQ(ipus, (std::vector<int64_t>{0, 1, 1, 1}));
  }
}

TEST(Estimate, OperationsWithoutCyclesAndWeightsAreOnTheFirstIpu) {
  ChipProgram p;
  p.ops.resize(3);
  for (ChipOp& op : p.ops) op.ipu = 1;
  ChipOptions o;
  o.num_ipus = 2;
  assign_ipus(p, target_of("c600"), o);
  for (const ChipOp& op : p.ops) EXPECT_EQ(op.ipu, 0);
}

// Stages of 10, 20 and 15 operations of 3150 cycles. The second one and the third one read 4 MB
// from the IPU before: 600 cycles of a sync and the bytes at 0.85 of two links of 32 GB/s.
ChipProgram three_stages() {
  ChipProgram p = products(45);
  for (size_t i = 0; i < p.ops.size(); i++) p.ops[i].ipu = i < 10 ? 0 : i < 30 ? 1 : 2;
  for (const size_t first : {size_t{10}, size_t{30}}) {
    ChipTensor passed;
    passed.bytes = 4'000'000;
    p.tensors.push_back(passed);
    p.ops[first - 1].outputs.push_back(p.tensors.size() - 1);
    p.ops[first].inputs.push_back(p.tensors.size() - 1);
  }
  return p;
}

TEST(Estimate, APipelineIsFilledAndDrained) {
  ChipOptions o;
  o.num_ipus = 3;
  o.batches_per_step = 8;
  o.overlap = true;
  const Target& target = target_of("c600");
  const Estimate e = estimate_of(three_stages(), target, o);
  // 4e6 / (64e9 * 0.85 / 1.5e9) = 110294 cycles.
  constexpr int64_t kCopy = 600 + 110294;
  EXPECT_EQ(e.stage_cycles,
            (std::vector<int64_t>{10 * 3150, 20 * 3150 + kCopy, 15 * 3150 + kCopy}));
  EXPECT_EQ(e.stages, 3);
  // Two rounds fill the pipeline, six are full, two drain it.
  EXPECT_EQ(e.pipeline_rounds, 2 + 6 + 2);
  const double round = (20 * 3150 + kCopy) / 1.5e9;
  const double call = 0.000020 / 8;
  EXPECT_NEAR(e.period_seconds, round * 10 / 8 + call, 2e-6);
  EXPECT_NEAR(e.latency_seconds, (45 * 3150 + 2 * kCopy) / 1.5e9 + 0.13e-3, 1e-9);
}

TEST(Estimate, ALongStepHidesFillAndDrainAndOneBatchDoesNot) {
  ChipOptions o;
  o.num_ipus = 3;
  o.overlap = true;
  const Target& target = target_of("c600");
  const auto period = [&](int64_t batches) {
    o.batches_per_step = batches;
    return estimate_of(three_stages(), target, o).period_seconds;
  };
  const double slowest = (20 * 3150 + 600 + 110294) / 1.5e9;
  EXPECT_NEAR(period(1), 3 * slowest + 0.000020, 2e-6);  // three stages and 0.02 ms for the call
  EXPECT_NEAR(period(1000), slowest, 0.003 * slowest);
  o.overlap = false;  // the IPUs work one after the other
  EXPECT_NEAR(period(1000), (45 * 3150 + 2 * (600 + 110294)) / 1.5e9, 1e-6);
}

TEST(Estimate, OnlyMeasuredProgramsAreChecked) {
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
  for (const DType type : {DType::f8_143, DType::f32})
    EXPECT_EQ(trust("c600", [&](ChipProgram& p) { p.ops[1].cost.plan->product.inputs = type; }),
              Trust::unchecked);
  Target other = target_of("c600");
  other.tiles = 100;
  ChipProgram p = products(3);
  for (ChipOp& op : p.ops) op.cost.plan = Plan{};
  EXPECT_EQ(estimate_of(p, other, {}).cycle_quality.trust, Trust::unchecked);
  ChipOptions least;
  least.available_memory_proportion = 0;
  EXPECT_EQ(estimate_of(p, target_of("c600"), least).cycle_quality.trust, Trust::unchecked);
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

#include "ipu/lowering.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ipu/exchange.h"

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

TEST(Lowering, AGatherOfNoRowsTakesNoTimeForThem) {
  Chip c;
  c.lowering.gather(DType::f16, 30522, 768, 0);
  const int64_t none = c.lowering.take().cycles();
  c.lowering.gather(DType::f16, 30522, 768, 1);
  EXPECT_LT(none, c.lowering.take().cycles());
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

// -- Operations of random sizes against formulas for one tile ------------------------------------

// A superstep, with the tiles that send to a tile and whether pairs of tiles receive the same
// bytes.
struct Wanted {
  std::string_view what;
  int64_t bytes = 0, compute = 0, tiles = 1;
  int64_t peers = 1, repeats = 1;
  bool shared = false;
};

void expect_steps(const OpCost& cost, const std::vector<Wanted>& wanted) {
  ASSERT_EQ(cost.steps.size(), wanted.size());
  int64_t temporary = 0;
  std::vector<std::string_view> vertices;
  for (size_t i = 0; i < wanted.size(); i++) {
    SCOPED_TRACE("step " + std::to_string(i) + ": " + std::string(wanted[i].what));
    const Superstep& s = cost.steps[i];
    const Wanted& w = wanted[i];
    EXPECT_EQ(s.what, w.what);
    EXPECT_EQ(s.exchange_bytes, w.bytes);
    EXPECT_EQ(s.compute, w.compute);
    EXPECT_EQ(s.tiles, w.tiles);
    EXPECT_EQ(s.repeats, w.repeats);
    EXPECT_EQ(s.sync, 150);
    EXPECT_EQ(s.overhead, 190);
    const int64_t words = w.shared ? (w.bytes + 4) / 8 : (w.bytes + 2) / 4;
    EXPECT_EQ(s.exchange, w.bytes ? words + fragment_cycles(w.bytes, w.peers) : 0);
    temporary = std::max(temporary, w.bytes);
    if (std::ranges::find(vertices, w.what) == vertices.end()) vertices.push_back(w.what);
  }
  EXPECT_EQ(cost.temporary_bytes, temporary);
  EXPECT_EQ(cost.vertices, vertices);
}

int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct SmallChip {
  Target target = target_of("c600");
  ChipOptions options;
  PlanCache plans{target, {}};
  std::mt19937 random;
  int64_t tiles;

  explicit SmallChip(uint32_t seed) : random(seed) {
    target.tiles = 8 + between(0, 60);
    options.num_io_tiles = seed % 2 ? 4 : 0;
    tiles = target.tiles - options.num_io_tiles;
  }
  int64_t between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
  }
  DType type() { return random() % 2 ? DType::f16 : DType::f32; }
  int64_t size() { return between(1, random() % 2 ? 300 : 60'000); }

  static int64_t bytes(DType type) { return type == DType::f16 ? 2 : 4; }
  static int64_t vector(DType type) { return 8 / bytes(type); }
  int64_t share(DType type, int64_t n) const {
    const int64_t even = up(up(n, tiles), vector(type)) * vector(type);
    return std::min(n, std::max(128 / bytes(type), even));
  }
  int64_t spread(DType type, int64_t n) const { return std::min(tiles, up(n, share(type, n))); }

  Wanted elementwise(Elementwise op, DType type, int64_t n, int64_t operands = 1,
                     bool scalar = false, int64_t received = 0) const {
    return {"elementwise", received,
            elementwise_cycles(target, op, type, share(type, n), operands, scalar),
            spread(type, n)};
  }
  // One value of each row, which is sent to the tiles with parts of at most 64 columns of the row.
  int64_t received_rows(DType type, int64_t rows, int64_t n) const {
    const int64_t columns = std::clamp<int64_t>(n / rows, 1, 64);
    return bytes(type) * std::min(rows, up(share(type, n), columns));
  }
  int64_t received(DType type, int64_t n, int64_t to) const {
    return bytes(type) * std::min(n, share(type, to));
  }
  std::vector<Wanted> reduce(DType type, int64_t n, int64_t results, bool contiguous) const {
    const int64_t depth = up(n, results), here = share(type, n), on = spread(type, n);
    std::vector<Wanted> steps = {
        {"reduce", 0,
         reduce_cycles(target, type, here, std::max<int64_t>(1, up(here, depth)), contiguous), on}};
    // The number of partial sums of a result is at most that of the tiles, so one stage is enough.
    const int64_t partial = results <= on ? up(on, results) : 2;
    if (on == 1 || partial == 1) return steps;
    const int64_t each = std::max<int64_t>(1, up(results, on));
    steps.push_back({"reduce", 4 * each * partial,
                     reduce_cycles(target, DType::f32, each * partial, each, false),
                     std::min(on, results), partial});
    return steps;
  }
};

TEST(Lowering, SharesAndTilesOfRandomTensorsAreThoseOfTheFormula) {
  for (uint32_t seed = 0; seed < 200; seed++) {
    SmallChip c(seed);
    const Lowering lowering(c.target, c.options, c.plans);
    const DType type = c.type();
    const int64_t n = c.size();
    EXPECT_EQ(lowering.share(type, n), c.share(type, n)) << n;
    EXPECT_EQ(lowering.spread(type, n), c.spread(type, n)) << n;
    EXPECT_EQ(lowering.spread(type, 0), 0);
  }
}

TEST(Lowering, PartialSumsOfHalvesAreFloatsOnRequest) {
  Chip c;
  EXPECT_EQ(c.lowering.partials(DType::f16), DType::f16);
  EXPECT_EQ(c.lowering.partials(DType::f8_143), DType::f16);
  EXPECT_EQ(c.lowering.partials(DType::f32), DType::f32);
  c.options.float_partials = true;
  EXPECT_EQ(c.lowering.partials(DType::f16), DType::f32);
  EXPECT_EQ(c.lowering.partials(DType::f8_143), DType::f16);
}

TEST(Lowering, SimpleOperationsComputeTheShareOfATile) {
  for (uint32_t seed = 0; seed < 60; seed++) {
    SCOPED_TRACE(seed);
    SmallChip c(seed);
    Lowering l(c.target, c.options, c.plans);
    const DType type = c.type();
    const int64_t n = c.size(), here = c.share(type, n), on = c.spread(type, n);
    const int64_t bytes = SmallChip::bytes(type) * here;
    l.elementwise(Elementwise::tanh, type, n, 2, seed % 3 == 0);
    expect_steps(l.take(), {c.elementwise(Elementwise::tanh, type, n, 2, seed % 3 == 0)});
    const DType other = type == DType::f16 ? DType::f32 : DType::f16;
    l.cast(type, other, n);
    expect_steps(l.take(), {{"cast", 0, cast_cycles(c.target, type, other, c.share(other, n)),
                             c.spread(other, n)}});
    l.cast(type, type, n);
    EXPECT_TRUE(l.take().steps.empty());
    l.fill(type, n);
    expect_steps(l.take(), {{"fill", 0, fill_cycles(c.target, type, here), on}});
    l.transpose(type, n);
    expect_steps(l.take(), {{"transpose", bytes, transpose_cycles(c.target, type, here), on,
                             static_cast<int64_t>(std::sqrt(static_cast<double>(here)))}});
    l.slice("slice", type, n);
    expect_steps(l.take(), {{"slice", 0, dynamic_slice_cycles(c.target, type, here), on}});
    l.pick(type, n);
    expect_steps(l.take(), {{"gather", 4 * here + 4 * bytes,
                             gather_cycles(c.target, type, 1, here, here), on}});
    l.align(type, n);
    l.align(type, n);
    l.elementwise(Elementwise::add, type, n);
    l.elementwise(Elementwise::add, type, n);
    expect_steps(l.take(), {c.elementwise(Elementwise::add, type, n, 1, false, 2 * bytes),
                            c.elementwise(Elementwise::add, type, n)});
    const int64_t channels = c.between(1, 400);
    l.bias(type, n, channels);
    expect_steps(l.take(), {c.elementwise(Elementwise::add, type, n, 2, true,
                                          c.received(type, channels, n))});
  }
}

TEST(Lowering, BytesOfAnOperationThatEndsAreNotReceivedByTheNextOne) {
  Chip c;
  c.lowering.align(DType::f16, 4096);
  c.lowering.begin_repeat(7);
  EXPECT_TRUE(c.lowering.take().steps.empty());
  c.lowering.fill(DType::f16, 4096);
  const Superstep s = c.lowering.take().steps.at(0);
  EXPECT_EQ(s.exchange_bytes, 0);
  EXPECT_EQ(s.repeats, 1);
}

TEST(Lowering, ReductionsSumOnEachTileAndThenAmongTiles) {
  for (uint32_t seed = 0; seed < 120; seed++) {
    SCOPED_TRACE(seed);
    SmallChip c(seed);
    Lowering l(c.target, c.options, c.plans);
    const DType type = c.type();
    const int64_t n = c.size(), results = c.between(1, std::min<int64_t>(n, 500));
    l.reduce(type, n, results, seed % 2);
    expect_steps(l.take(), c.reduce(type, n, results, seed % 2));
  }
}

// More results than elements are one for each, and no result is one.
TEST(Lowering, ReductionsHaveAtLeastOneResultAndAtMostOneForEachElement) {
  SmallChip c(3);
  Lowering l(c.target, c.options, c.plans);
  l.reduce(DType::f32, 700, 0);
  expect_steps(l.take(), c.reduce(DType::f32, 700, 1, true));
  l.reduce(DType::f32, 700, 900);
  expect_steps(l.take(), c.reduce(DType::f32, 700, 700, true));
}

// 1472 partial sums are summed in stages of 256 and 6.
TEST(Lowering, ManyPartialSumsAreReducedInStages) {
  Chip c;
  const int64_t n = 1472 * 1000;
  c.lowering.reduce(DType::f32, n, 1);
  const Target& t = c.target;
  expect_steps(c.lowering.take(),
               {{"reduce", 0, reduce_cycles(t, DType::f32, 1000, 1, true), 1472},
                {"reduce", 4 * 256, reduce_cycles(t, DType::f32, 256, 1, false), 6, 256},
                {"reduce", 4 * 6, reduce_cycles(t, DType::f32, 6, 1, false), 1, 6}});
  c.lowering.reduce(DType::f32, n, 1472 / 64);  // 64 partial sums of each result: one stage
  expect_steps(c.lowering.take(),
               {{"reduce", 0, reduce_cycles(t, DType::f32, 1000, 1, true), 1472},
                {"reduce", 4 * 64, reduce_cycles(t, DType::f32, 64, 1, false), 23, 64}});
  c.lowering.reduce(DType::f32, n, 1472 / 65);  // 67 partial sums, with a radix of 16
  expect_steps(c.lowering.take(),
               {{"reduce", 0, reduce_cycles(t, DType::f32, 1000, 1, true), 1472},
                {"reduce", 4 * 16, reduce_cycles(t, DType::f32, 16, 1, false), 22 * 5, 16},
                {"reduce", 4 * 5, reduce_cycles(t, DType::f32, 5, 1, false), 22, 5}});
}

TEST(Lowering, SoftmaxSubtractsTheMaximumAndMultipliesByTheInverseOfTheSum) {
  for (uint32_t seed = 0; seed < 40; seed++) {
    SCOPED_TRACE(seed);
    SmallChip c(seed);
    c.options.stable_softmax = seed % 3;
    Lowering l(c.target, c.options, c.plans);
    const DType type = c.type();
    const int64_t rows = c.between(1, 200), columns = c.between(1, 200), n = rows * columns;
    l.softmax(type, rows, columns);
    std::vector<Wanted> wanted;
    const auto add = [&](const std::vector<Wanted>& steps) {
      wanted.insert(wanted.end(), steps.begin(), steps.end());
    };
    const auto reduced = c.reduce(type, n, rows, true);
    const Wanted scaled =
        c.elementwise(Elementwise::add, type, n, 2, true, c.received_rows(type, rows, n));
    if (c.options.stable_softmax) {
      add(reduced);
      add({scaled});
    }
    add({c.elementwise(Elementwise::exp, type, n)});
    add(reduced);
    add({c.elementwise(Elementwise::inverse, DType::f32, rows), scaled});
    expect_steps(l.take(), wanted);
  }
}

TEST(Lowering, NormalizationsSumTheSquaresWithTheElementsIfTheyAreCentered) {
  for (uint32_t seed = 0; seed < 40; seed++) {
    SCOPED_TRACE(seed);
    SmallChip c(seed);
    Lowering l(c.target, c.options, c.plans);
    const DType type = c.type();
    const int64_t groups = c.between(1, 100), channels = c.between(1, 100), n = groups * channels;
    std::vector<Wanted> sums = c.reduce(type, n, groups, true);
    const Wanted row =
        c.elementwise(Elementwise::add, type, n, 2, true, c.received_rows(type, groups, n));
    const Wanted channel =
        c.elementwise(Elementwise::add, type, n, 2, true, c.received(type, channels, n));
    const Wanted root = c.elementwise(Elementwise::rsqrt, DType::f32, groups);

    std::vector<Wanted> plain = {c.elementwise(Elementwise::square, type, n)};
    plain.insert(plain.end(), sums.begin(), sums.end());
    plain.insert(plain.end(), {root, row, channel});
    l.normalize(type, n, groups, channels, false);
    expect_steps(l.take(), plain);

    std::vector<Wanted> centered = sums;
    centered.back().compute *= 2;
    centered.insert(centered.end(), {c.elementwise(Elementwise::square, DType::f32, groups), root,
                                     row, row, channel, channel});
    l.normalize(type, n, groups, channels);
    expect_steps(l.take(), centered);
  }
}

TEST(Lowering, AnUpdateAddsRowsToCopiesOfTheTableAndSumsTheCopies) {
  for (uint32_t seed = 0; seed < 60; seed++) {
    SCOPED_TRACE(seed);
    SmallChip c(seed);
    Lowering l(c.target, c.options, c.plans);
    const DType type = c.type();
    const int64_t rows = c.between(1, 500), row = c.between(1, 300), indices = c.between(1, 200);
    const int64_t columns = std::min(c.tiles, up(row, SmallChip::vector(type)));
    const int64_t part = up(row, columns), size = SmallChip::bytes(type);
    const int64_t copies = std::clamp<int64_t>(c.tiles / columns, 1, indices);
    const int64_t each = up(indices, copies), sums = up(rows * row, columns * copies);
    std::vector<Wanted> wanted = {{"update", 4 * each + size * each * part,
                                   update_add_cycles(c.target, type, part, each, each),
                                   columns * copies}};
    if (copies > 1)
      wanted.push_back({"update", size * sums * copies,
                        reduce_add_cycles(c.target, type, sums, copies), columns * copies, copies});
    l.update_add(type, rows, row, indices);
    expect_steps(l.take(), wanted);
  }
}

TEST(Lowering, PoolingDividesChannelsAndThenTheField) {
  for (uint32_t seed = 0; seed < 60; seed++) {
    SCOPED_TRACE(seed);
    SmallChip c(seed);
    Lowering l(c.target, c.options, c.plans);
    const DType type = c.type();
    const int64_t channels = c.between(1, 500), field = c.between(1, 300), taps = c.between(1, 25);
    const int64_t inputs = channels * field * 2, width = SmallChip::vector(type);
    const int64_t vectors = up(channels, width);
    const int64_t parts = std::min(field, std::max<int64_t>(1, c.tiles / vectors));
    l.pool(type, channels, field, taps, inputs);
    expect_steps(
        l.take(),
        {{"pool", 2 * SmallChip::bytes(type) * c.share(type, inputs),
          pool_cycles(c.target, type, up(vectors * parts, c.tiles) * width, up(field, parts), taps),
          std::min(c.tiles, vectors * parts)}});
  }
}

// A bitonic network for 2^k columns has k (k + 1) / 2 rounds.
TEST(Lowering, ASortComparesInTheRoundsOfANetwork) {
  SmallChip c(5);
  Lowering l(c.target, c.options, c.plans);
  const std::pair<int64_t, int64_t> rounds[] = {{1, 1},   {2, 1},    {3, 3},    {4, 3},
                                                {5, 6},   {8, 6},    {9, 10},   {16, 10},
                                                {17, 15}, {100, 28}, {128, 28}, {129, 36}};
  for (const auto& [columns, wanted] : rounds) {
    constexpr int64_t kRows = 30;
    const int64_t n = kRows * columns, here = c.share(DType::f32, n);
    l.sort(DType::f32, kRows, columns);
    expect_steps(l.take(),
                 {{"compare and exchange", 4 * here,
                   elementwise_cycles(c.target, Elementwise::max, DType::f32, 2 * here, 2),
                   c.spread(DType::f32, n), 1, wanted}});
  }
  l.sort(DType::f32, 1, 1);
  EXPECT_TRUE(l.take().steps.empty());
}

TEST(Lowering, NestedLoopsMultiplyTheirRounds) {
  Chip c;
  c.lowering.begin_repeat(3);
  c.lowering.fill(DType::f16, 8);
  c.lowering.begin_repeat(5);
  c.lowering.fill(DType::f16, 8);
  c.lowering.end_repeat(5);
  c.lowering.fill(DType::f16, 8);
  c.lowering.end_repeat(3);
  c.lowering.fill(DType::f16, 8);
  std::vector<int64_t> rounds;
  for (const Superstep& s : c.lowering.take().steps) rounds.push_back(s.repeats);
  EXPECT_EQ(rounds, (std::vector<int64_t>{3, 15, 3, 1}));
}

// The fastest of all divisions of the table into rows and columns, and of the indices.
TEST(Lowering, AGatherTakesTheFastestDivisionOfTheTable) {
  const auto next = [](int64_t i) { return i < 4 ? i + 1 : i * 5 / 4; };
  for (uint32_t seed = 0; seed < 60; seed++) {
    SCOPED_TRACE(seed);
    SmallChip c(seed);
    Lowering l(c.target, c.options, c.plans);
    const DType type = c.type();
    const int64_t rows = c.between(1, seed % 3 ? 400 : 60'000), row = c.between(1, 300);
    const int64_t indices = c.between(1, 300), atom = SmallChip::vector(type);
    const int64_t size = SmallChip::bytes(type);
    int64_t best = INT64_MAX;
    std::vector<Wanted> wanted;
    for (int64_t columns = 1; columns <= up(row, atom); columns = next(columns))
      for (int64_t parts = 1; parts <= std::min(rows, c.tiles / columns); parts = next(parts)) {
        const int64_t groups = std::min(indices, std::max<int64_t>(1, c.tiles / (parts * columns)));
        const int64_t width = up(up(row, columns), atom) * atom, each = up(indices, groups);
        const int64_t found = parts == 1 ? each : std::min(each, up(each * 5, parts * 4));
        const int64_t table = size * up(rows, parts) * width;
        if (groups > 1 && table > c.target.bytes_per_tile / 4) continue;
        const int64_t outputs = up(indices * row, parts * columns * groups);
        const int64_t received = 4 * each + (groups > 1 ? table : 0);
        const int64_t looked_up = gather_cycles(c.target, type, width, each, found);
        int64_t cycles = received / 4 + looked_up;
        std::vector<Wanted> steps = {{"gather", received, looked_up, parts * columns * groups}};
        if (parts > 1) {
          const int64_t sums = reduce_add_cycles(c.target, type, outputs, parts);
          cycles += size * outputs * parts / 4 + sums;
          steps.push_back({"gather", size * outputs * parts, sums, c.tiles, parts});
        }
        if (cycles >= best) continue;
        best = cycles;
        wanted = steps;
      }
    l.gather(type, rows, row, indices);
    expect_steps(l.take(), wanted);
  }
}

TEST(Lowering, AScatterOfRandomSizesCopiesTheTensorAndReplacesItsRows) {
  for (uint32_t seed = 0; seed < 60; seed++) {
    SCOPED_TRACE(seed);
    SmallChip c(seed);
    Lowering l(c.target, c.options, c.plans);
    const DType type = c.type();
    const int64_t n = c.size(), row = c.between(1, 300), indices = c.between(1, 100);
    const int64_t size = SmallChip::bytes(type), here = c.share(type, n), on = c.spread(type, n);
    const int64_t columns = std::min(c.tiles, up(row, SmallChip::vector(type)));
    const int64_t part = up(row, columns), found = up(indices, c.tiles / columns);
    l.scatter(type, n, row, indices);
    expect_steps(l.take(), {{"copy", 0, copy_cycles(c.target, size * here, 8), on},
                            {"update", 4 * indices + size * found * part,
                             gather_cycles(c.target, type, part, indices, found), on}});
  }
}

// The steps of a product are those of its plan: each phase that has cycles, in the rounds of the
// serial split.
TEST(Lowering, AProductHasAStepForEachPhaseOfItsPlan) {
  size_t serial = 0, reduced = 0, rearranged = 0, flattened = 0;
  for (uint32_t seed = 0; seed < 40; seed++) {
    SCOPED_TRACE(seed);
    SmallChip c(seed);
    c.options.available_memory_proportion = seed % 4 ? 0.6 : 0.02;
    c.options.float_partials = seed % 2;
    Lowering l(c.target, c.options, c.plans);
    Product p;
    p.matmul = seed % 3 > 0;
    p.batch = c.between(1, 4);
    p.rows = c.between(1, 60);
    p.width = p.matmul ? 1 : c.between(1, 30);
    p.in = c.between(1, 300);
    p.out = c.between(1, 300);
    if (!p.matmul) p.kernel_rows = p.kernel_width = 3;
    p.inputs = p.result = c.type();
    p.partials = p.inputs == DType::f32 || seed % 2 ? DType::f32 : DType::f16;
    p.computed_weights = seed % 5 == 0;
    const Plan plan = l.product(p);
    const OpCost cost = l.take();
    const PlanCost& k = plan.cost;
    const int64_t rounds = plan.split.serial_in * plan.split.serial_out;
    const int64_t on = std::min(plan.split.tiles(), c.tiles);
    const int64_t factor = k.shared_input ? 8 : 4;
    const int64_t inputs = k.input_exchange ? (k.input_exchange - 150) * factor : 0;
    std::vector<Wanted> wanted;
    const bool sent_first = plan.split.broadcast();
    if (sent_first) wanted.push_back({"exchange of inputs", inputs, 0, on, 1, 1, k.shared_input});
    if (plan.flattened)
      wanted.push_back(
          {"transform", sent_first ? 0 : inputs, k.transform - 150, on, 1, rounds, k.shared_input});
    if (k.rearrange)
      wanted.push_back({"rearrange", 4 * k.rearrange_exchange, k.rearrange, on, 1, rounds});
    if (k.slice) wanted.push_back({"slice operands", 0, k.slice - 150, on, 1, rounds});
    if (k.weight_exchange)
      wanted.push_back({"exchange of weights", 4 * (k.weight_exchange - 150), 0, on, 1, rounds});
    wanted.push_back({method_name(plan.method), plan.flattened || sent_first ? 0 : inputs,
                      k.compute, on, 1, rounds, k.shared_input});
    for (const ReduceStage& stage : k.stages)
      if (stage.depth > 1)
        wanted.push_back({"reduce partials", stage.bytes, stage.compute, on, 1, rounds});
    const bool looped = plan.split.serial_in > 1;
    const Wanted cast = {"cast", 0, k.cast - 150, on, 1, looped ? 1 : rounds};
    if (k.cast && !looped) wanted.push_back(cast);
    if (k.update) wanted.push_back({"update", 0, k.update - 150, on, 1, rounds});
    if (k.add) wanted.push_back({"add in place", 0, k.add - 150, on, 1, rounds});
    if (k.cast && looped) wanted.push_back(cast);
    ASSERT_EQ(cost.steps.size(), wanted.size());
    int64_t temporary = k.temporary_bytes;
    for (size_t i = 0; i < wanted.size(); i++) {
      EXPECT_EQ(cost.steps[i].what, wanted[i].what);
      EXPECT_EQ(cost.steps[i].exchange_bytes, wanted[i].bytes) << wanted[i].what;
      EXPECT_EQ(cost.steps[i].compute, wanted[i].compute) << wanted[i].what;
      EXPECT_EQ(cost.steps[i].tiles, wanted[i].tiles) << wanted[i].what;
      EXPECT_EQ(cost.steps[i].repeats, wanted[i].repeats) << wanted[i].what;
      EXPECT_EQ(cost.steps[i].exchange,
                wanted[i].bytes
                    ? (wanted[i].bytes + (wanted[i].shared ? 4 : 2)) / (wanted[i].shared ? 8 : 4)
                    : 0)
          << wanted[i].what;
      temporary = std::max(temporary, wanted[i].bytes);
    }
    EXPECT_EQ(cost.temporary_bytes, temporary);
    ASSERT_TRUE(cost.plan.has_value());
    EXPECT_EQ(cost.plan->split, plan.split);
    serial += rounds > 1;
    reduced += k.stages[0].depth > 1;
    rearranged += k.rearrange > 0;
    flattened += plan.flattened;
  }
  EXPECT_GT(serial, 0u);
  EXPECT_GT(reduced, 0u);
  EXPECT_GT(rearranged, 0u);
  EXPECT_GT(flattened, 0u);
}

TEST(Lowering, OperationsOnNothingHaveNoSteps) {
  Chip c;
  Lowering& l = c.lowering;
  l.elementwise(Elementwise::add, DType::f16, 0, 2);
  l.cast(DType::f16, DType::f32, 0);
  l.rearrange(DType::f16, 0, 4, 8);
  l.transpose(DType::f16, 0);
  l.fill(DType::f16, 0);
  l.reduce(DType::f16, 0, 1);
  l.softmax(DType::f16, 3, 0);
  l.normalize(DType::f16, 0, 3, 4);
  l.pick(DType::f16, 0);
  l.slice("slice", DType::f16, 0);
  l.sort(DType::f16, 0, 5);
  for (int64_t empty = 0; empty < 3; empty++) {
    const int64_t a = empty != 0, b = empty != 1, d = empty != 2;
    l.gather(DType::f16, 9 * a, 9 * b, 9 * d);
    l.update_add(DType::f16, 9 * a, 9 * b, 9 * d);
    if (empty < 2) l.pool(DType::f16, 9 * a, 9 * b, 4, 8);
  }
  const OpCost cost = l.take();
  EXPECT_TRUE(cost.steps.empty());
  EXPECT_EQ(cost.temporary_bytes, 0);
}

TEST(Lowering, OperationsOnOneElementHaveSteps) {
  Chip c;
  Lowering& l = c.lowering;
  const auto steps = [&](const auto& add) {
    add();
    return l.take().steps.size();
  };
  EXPECT_EQ(steps([&] { l.elementwise(Elementwise::add, DType::f16, 1, 2); }), 1U);
  EXPECT_EQ(steps([&] { l.cast(DType::f16, DType::f32, 1); }), 1U);
  EXPECT_EQ(steps([&] { l.rearrange(DType::f16, 1, 4, 8); }), 1U);
  EXPECT_EQ(steps([&] { l.transpose(DType::f16, 1); }), 1U);
  EXPECT_EQ(steps([&] { l.fill(DType::f16, 1); }), 1U);
  EXPECT_EQ(steps([&] { l.reduce(DType::f16, 1, 1); }), 1U);
  EXPECT_EQ(steps([&] { l.softmax(DType::f16, 1, 1); }), 6U);
  EXPECT_EQ(steps([&] { l.normalize(DType::f16, 1, 1, 1); }), 7U);
  EXPECT_EQ(steps([&] { l.pick(DType::f16, 1); }), 1U);
  EXPECT_EQ(steps([&] { l.slice("slice", DType::f16, 1); }), 1U);
  EXPECT_EQ(steps([&] { l.sort(DType::f16, 2, 1); }), 1U);
  EXPECT_EQ(steps([&] { l.sort(DType::f16, 1, 2); }), 1U);
  EXPECT_EQ(steps([&] { l.gather(DType::f16, 1, 1, 1); }), 1U);
  EXPECT_EQ(steps([&] { l.scatter(DType::f16, 1, 1, 1); }), 2U);
  EXPECT_EQ(steps([&] { l.update_add(DType::f16, 1, 1, 1); }), 1U);
  EXPECT_EQ(steps([&] { l.pool(DType::f16, 1, 1, 1, 1); }), 1U);
}

// A tile receives its bytes in runs of `piece` bytes. Senders have runs that are neighbours in the
// input: a tile with b bytes has b / stride of them.
TEST(Lowering, RearrangementsReceiveRunsFromTheTilesThatHaveThem) {
  for (uint32_t seed = 0; seed < 80; seed++) {
    SCOPED_TRACE(seed);
    SmallChip c(seed);
    Lowering l(c.target, c.options, c.plans);
    const DType type = c.type();
    const int64_t n = c.size(), bytes = SmallChip::bytes(type) * c.share(type, n);
    const int64_t piece = c.between(0, 64), stride = c.between(0, 1) * c.between(1, 300);
    const int64_t runs = up(bytes, std::max<int64_t>(piece, 1));
    const int64_t peers = std::clamp<int64_t>(up(runs * stride, bytes), 1, runs);
    l.rearrange(type, n, piece, stride);
    expect_steps(l.take(), {{"rearrange", bytes, rearrangement_cycles(bytes, piece),
                             c.spread(type, n), peers}});
  }
}

// 64 partial sums are summed at once, and 65 in stages of 16 and 5.
TEST(Lowering, MoreThan64PartialSumsAreReducedInStages) {
  for (const int64_t tiles : {64, 65}) {
    SmallChip c(0);
    c.target.tiles = tiles;
    Lowering l(c.target, c.options, c.plans);
    l.reduce(DType::f32, tiles * 100, 1);
    std::vector<int64_t> received;
    for (const Superstep& s : l.take().steps) received.push_back(s.exchange_bytes);
    EXPECT_EQ(received, tiles == 64 ? (std::vector<int64_t>{0, 4 * 64})
                                    : (std::vector<int64_t>{0, 4 * 16, 4 * 5}));
  }
}

// All tiles of the chip are I/O tiles, except those that compute: at least one.
TEST(Lowering, AtLeastOneTileComputes) {
  Target target = target_of("c600");
  ChipOptions options;
  options.num_io_tiles = target.tiles;
  PlanCache plans(target, {});
  Lowering l(target, options, plans);
  EXPECT_EQ(l.tiles(), 1);
  l.fill(DType::f16, 100'000);
  EXPECT_EQ(l.take().steps.at(0).tiles, 1);
  options.num_io_tiles = target.tiles - 1;
  EXPECT_EQ(Lowering(target, options, plans).tiles(), 1);
  options.num_io_tiles = target.tiles - 2;
  EXPECT_EQ(Lowering(target, options, plans).tiles(), 2);
}

TEST(Lowering, LoopsOfAnOperationEndWithIt) {
  Chip c;
  c.lowering.sort(DType::f32, 30, 100);
  c.lowering.fill(DType::f16, 8);
  const OpCost cost = c.lowering.take();
  ASSERT_EQ(cost.steps.size(), 2U);
  EXPECT_EQ(cost.steps[0].repeats, 28);
  EXPECT_EQ(cost.steps[1].repeats, 1);
}

// A loop over input channels adds the sums of each round, and casts them after the last one.
TEST(Lowering, AProductInALoopOverInputChannelsCastsItsSumsOnce) {
  Chip c;
  c.options.available_memory_proportion = 0.5;
  c.options.float_partials = true;
  Product p;
  p.batch = 1472 * 64;
  p.in = 1 << 14;
  p.out = 16;
  p.partials = DType::f32;
  const Plan plan = c.lowering.product(p);
  c.lowering.fill(DType::f16, 8);
  const OpCost cost = c.lowering.take();
  ASSERT_GT(plan.split.serial_in, 1);
  const int64_t rounds = plan.split.serial_in * plan.split.serial_out;
  const size_t count = cost.steps.size();
  ASSERT_GE(count, 4U);
  EXPECT_EQ(cost.steps[count - 1].repeats, 1);
  const Superstep &cast = cost.steps[count - 2], &add = cost.steps[count - 3];
  EXPECT_EQ(cast.what, "cast");
  EXPECT_EQ(cast.compute, plan.cost.cast - 150);
  EXPECT_EQ(cast.exchange_bytes, 0);
  EXPECT_EQ(cast.tiles, plan.split.tiles());
  EXPECT_EQ(cast.repeats, 1);
  EXPECT_EQ(add.what, "add in place");
  EXPECT_EQ(add.compute, plan.cost.add - 150);
  EXPECT_EQ(add.exchange_bytes, 0);
  EXPECT_EQ(add.tiles, plan.split.tiles());
  EXPECT_EQ(add.repeats, rounds);
}

}  // namespace
}  // namespace poprt::ipu

#include "ipu/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ipu/plan_cost.h"
#include "support/published_chip.h"

namespace poprt::ipu {
namespace {

TEST(Planner, ContiguousPartialSumsAreReducedFaster) {
  const Target& t = target_of("mk2");
  Product p;
  p.matmul = true;
  p.batch = 16;
  p.in = 1024;
  p.out = 64;
  Split split;
  split.in = 16;
  split.out = 4;
  PlanOptions options;
  const PlanCost plain = plan_with(t, p, options, Method::amp, split).cost;
  options.fast_reduce = true;
  const PlanCost fast = plan_with(t, p, options, Method::amp, split).cost;
  EXPECT_GT(plain.reduce, fast.reduce);
  EXPECT_EQ(plain.total - fast.total, plain.reduce - fast.reduce);
  EXPECT_LE(plan_product(t, p, options).cost.objective, plan_product(t, p, {}).cost.objective);
}

Product matmul_of(int64_t rows, int64_t in, int64_t out) {
  Product p;
  p.matmul = true;
  p.batch = rows;
  p.in = in;
  p.out = out;
  return p;
}

// Prints the ratios of predicted and published numbers.
struct Ratios {
  std::vector<double> cycles, megabytes;

  explicit Ratios(const std::vector<PublishedRow>& rows) {
    for (const PublishedRow& row : rows) {
      const Prediction p = predict(row);
      cycles.push_back(p.cycles / row.cycles);
      megabytes.push_back(p.megabytes / row.megabytes);
      std::printf("%-36s %8.0f %8.0f %5.2f   %6.1f %6.1f MB %5.2f\n", row.name, p.cycles,
                  row.cycles, cycles.back(), p.megabytes, row.megabytes, megabytes.back());
    }
  }
  double within(double factor) const {
    const auto n =
        std::ranges::count_if(megabytes, [&](double r) { return r < factor && r > 1 / factor; });
    return static_cast<double>(n) / static_cast<double>(megabytes.size());
  }
};

TEST(Planner, MatrixProductsAreAsPublished) {
  const Ratios r(published_gemms());
  EXPECT_NEAR(geometric_mean(r.cycles), 1.0, 0.03);
  EXPECT_GT(std::ranges::min(r.cycles), 0.90);
  EXPECT_LT(std::ranges::max(r.cycles), 1.12);
}

TEST(Planner, MemoryOfMatrixProductsIsAsPublished) {
  const Ratios r(published_gemms());
  EXPECT_NEAR(geometric_mean(r.megabytes), 1.0, 0.1);
  EXPECT_EQ(r.within(1.3), 1.0);
}

TEST(Planner, MemoryOfAllRowsIsAsPublished) {
  std::vector<double> all;
  for (const auto& rows : {published_gemms(), published_layers(), published_convolutions()}) {
    const Ratios r(rows);
    all.insert(all.end(), r.megabytes.begin(), r.megabytes.end());
  }
  EXPECT_NEAR(geometric_mean(all), 1.0, 0.1);
  const auto near = std::ranges::count_if(all, [](double r) { return r < 1.3 && r > 1 / 1.3; });
  EXPECT_GE(static_cast<double>(near), 0.8 * static_cast<double>(all.size()));
}

TEST(Planner, TrainedLayersAreAsPublished) {
  const Ratios r(published_layers());
  const double mean = geometric_mean(r.cycles);
  EXPECT_GE(mean, 0.9);
  EXPECT_LE(mean, 1.0);
}

TEST(Planner, TrainedConvolutionsAreAsPublished) {
  const Ratios r(published_convolutions());
  const double mean = geometric_mean(r.cycles);
  EXPECT_GE(mean, 0.9);
  EXPECT_LE(mean, 1.0);
}

TEST(Planner, TheSplitOfTheWorkedExample) {
  const Target& t = target_of("mk2");
  Product p = matmul_of(10000, 64, 200);
  p.partials = DType::f32;
  Split s;
  s.batch = 105;
  s.out = 14;
  const Plan plan = plan_with(t, p, {}, Method::amp, s);
  EXPECT_EQ(plan.work.field(), 96);
  EXPECT_EQ(plan.cost.compute, 4755);
  EXPECT_EQ(plan.cost.input_exchange, 1536 + 150);
  EXPECT_EQ(plan.cost.weight_exchange, 507 + 150);  // a tile stores 19 bytes of the weights
  EXPECT_EQ(plan.cost.cast, 924 + 150);
  EXPECT_EQ(plan.cost.bound_bytes, 20480);
}

// ipu/plan_cost.h has the numbers.
TEST(Planner, TheWorkedExampleOfTheCosts) {
  const Target& t = target_of("mk2");
  Product p = matmul_of(200, 512, 10000);
  p.partials = DType::f32;
  p.resident_inputs = true;
  const Plan plan = plan_product(t, p, {});
  EXPECT_TRUE(plan.swapped);
  EXPECT_EQ(plan.split.batch, 73);
  EXPECT_EQ(plan.split.in, 4);
  EXPECT_EQ(plan.split.out, 5);
  EXPECT_EQ(plan.work.field(), 137);
  EXPECT_EQ(plan.work.in, 128);
  EXPECT_EQ(plan.work.out, 40);
  EXPECT_EQ(plan.cost.bound_bytes, 35072 + 10240 + 21920);
  // Four fifths of the inputs at 4 bytes in a cycle, and a sync.
  EXPECT_EQ(plan.cost.input_exchange, 7015 + 150);
  // The reduction of four partial sums writes halves: there is no cast.
  EXPECT_EQ(plan.cost.cast, 0);
}

// 25 groups of output channels: 14 parts are not smaller than 13 parts.
TEST(Planner, HasNoMorePartsThanTheSizeOfAPartNeeds) {
  for (const PublishedRow& row : published_gemms()) {
    const Plan plan = plan_product(target_of("mk2"), row.product, {});
    const int64_t groups = (plan.product.out + 7) / 8;
    const int64_t part = (groups + plan.split.out - 1) / plan.split.out;
    EXPECT_EQ(plan.split.out, (groups + part - 1) / part);
  }
}

TEST(Planner, ChannelsThatAreNotWholeGroupsAreRearranged) {
  const Target& t = target_of("c600");
  const Plan even = plan_product(t, matmul_of(80, 64, 80), {});
  EXPECT_EQ(even.cost.rearrange, 0);
  const Plan odd = plan_product(t, matmul_of(80, 77, 80), {});
  EXPECT_GT(odd.cost.rearrange, 0);
  EXPECT_GT(odd.cost.rearrange_exchange, 0);
  EXPECT_GT(odd.cost.total, even.cost.total);
  // The right operand is not the field.
  Split s;
  s.batch = 80;
  EXPECT_GT(plan_with(t, matmul_of(80, 64, 80), {}, Method::amp, s).cost.rearrange, 0);
}

TEST(Planner, RowsOfTheKernelCanBeSplit) {
  Product p;
  p.rows = p.width = 1;
  p.kernel_rows = p.kernel_width = 7;
  p.in = p.out = 64;
  const Plan plan = plan_product(target_of("c600"), p, {});
  EXPECT_GT(plan.split.kernel, 1);
  EXPECT_EQ(plan.work.kernel_rows, (7 + plan.split.kernel - 1) / plan.split.kernel);
  EXPECT_GT(plan.cost.reduce, 0);
}

// One output channel group and many input channels: a loop over output channels cannot help.
TEST(Planner, LoopsOverInputChannelsIfOutputsAreFew) {
  const Target& t = target_of("c600");
  Product p;
  p.batch = 1472 * 64;
  p.in = 1 << 14;
  p.out = 16;
  const PlanOptions narrow{.memory_proportion = 0.5};
  const Plan plan = plan_product(t, p, narrow);
  EXPECT_TRUE(plan.within_memory);
  EXPECT_GT(plan.split.serial_in, 1);
  EXPECT_EQ(plan.split.serial_out, 1);
  EXPECT_EQ(p.in % plan.split.serial_in, 0);
  EXPECT_LE(static_cast<double>(plan.cost.bound_bytes), 0.5 * 638976);
  EXPECT_GT(plan.cost.add, 0);
  EXPECT_GT(plan.cost.slice, 0);
  EXPECT_EQ(plan.cost.update, 0);
}

TEST(Planner, StaysWithinTheBoundOrLoops) {
  const Target& t = target_of("mk2");
  const Product p = matmul_of(1000, 4096, 30000);
  for (const double bound : {0.6, 0.3, 0.15}) {
    const Plan plan = plan_product(t, p, {.memory_proportion = bound});
    EXPECT_TRUE(plan.within_memory) << bound;
    EXPECT_LE(static_cast<double>(plan.cost.bound_bytes), bound * 638976) << bound;
  }
  const Plan wide = plan_product(t, p, {}),
             narrow = plan_product(t, p, {.memory_proportion = 0.15});
  EXPECT_LT(narrow.cost.temporary_bytes, wide.cost.temporary_bytes);
  EXPECT_GT(narrow.cost.total, wide.cost.total);
}

TEST(Planner, NeverUsesMoreTilesThanThereAre) {
  const Target& t = target_of("c600");
  for (const int64_t tiles : {1472, 1408, 64, 1}) {
    const Plan plan = plan_product(t, matmul_of(128, 768, 2304), {.tiles = tiles});
    EXPECT_LE(plan.split.tiles(), tiles);
  }
}

TEST(Planner, DepthwiseConvolutionsDoNotUseTheWholeAmp) {
  Product p;
  p.groups = 64;
  p.batch = 4;
  p.rows = p.width = 56;
  p.kernel_rows = p.kernel_width = 3;
  const Plan plan = plan_product(target_of("c600"), p, {});
  EXPECT_NE(plan.method, Method::amp);
}

TEST(Planner, EqualArgumentsGiveEqualTexts) {
  const Target& t = target_of("c600");
  const PlanOptions o;
  const std::string text = plan_text(t, plan_product(t, matmul_of(128, 768, 2304), o), o, "kqv");
  EXPECT_EQ(text, plan_text(t, plan_product(t, matmul_of(128, 768, 2304), o), o, "kqv"));
  EXPECT_NE(text.find("method"), std::string::npos);
  EXPECT_NE(text.find("total"), std::string::npos);
}

TEST(Planner, CachesPlans) {
  PlanCache cache(target_of("c600"), {});
  const Plan& a = cache.plan(matmul_of(128, 768, 2304));
  const Plan& b = cache.plan(matmul_of(128, 768, 2304));
  EXPECT_EQ(&a, &b);
  cache.plan(matmul_of(128, 768, 768));
  EXPECT_EQ(cache.size(), 2u);
}

TEST(Planner, RefusesSizesThatAreNotPositive) {
  EXPECT_THROW(plan_product(target_of("mk2"), matmul_of(0, 1, 1), {}), Error);
}

// The reference for the search of the planner: all splits of all variants, in plain loops.
class AllPlans {
 public:
  AllPlans(const Target& t, const Product& p, const PlanOptions& o) : target_(t), options_(o) {
    bound_ = o.memory_proportion * static_cast<double>(t.bytes_per_tile);
    every_change(p, {});
    for (const int64_t rounds : {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}) {
      const int64_t most = std::max(p.out, p.matmul ? p.batch : 1) / 16;
      Split loops;
      loops.serial_out = rounds;
      if (rounds <= most) every_change(p, loops);
      loops = {};
      loops.serial_in = rounds;
      if (p.groups == 1 && p.in % rounds == 0) every_change(p, loops);
    }
  }

  bool found = false;                                       // a plan within the bound
  std::pair<int64_t, int64_t> plain{INT64_MAX, INT64_MAX};  // objective and bytes
  int64_t total = INT64_MAX;                                // of such a plan
  std::pair<int64_t, int64_t> loop{INT64_MAX, INT64_MAX};   // total and bytes
  int64_t least = INT64_MAX;                                // bytes

 private:
  // All numbers of parts, except those whose parts are not shorter than those of a smaller number.
  std::vector<int64_t> parts(int64_t size) const {
    std::vector<int64_t> all;
    int64_t last = 0;
    for (int64_t n = 1; n <= size && n <= options_.tiles; n++)
      if (const int64_t length = (size + n - 1) / n; length != last)
        all.push_back(n), last = length;
    return all;
  }

  void every_change(const Product& p, const Split& loops) {
    every_method(p, {}, loops);
    if (p.matmul) {  // the transposed product; the left operand becomes the right one
      Product q = p;
      q.batch = p.out;
      q.out = p.batch;
      q.resident_inputs = !p.computed_weights;
      q.computed_weights = !p.resident_inputs;
      every_method(q, {.swapped = true}, loops);
    } else {  // groups that are joined
      for (const int64_t n : {2, 4, 8, 16})
        if (p.in * n <= 16 && p.groups % n == 0) {
          Product q = p;
          q.groups = p.groups / n;
          q.in = n * p.in;
          q.out = n * p.out;
          every_method(q, {}, loops);
        }
    }
    const int64_t taps = p.kernel_rows * p.kernel_width;
    if (taps > 1 && p.groups == 1 && taps * p.in <= 256 && loops.serial_in == 1) {
      Product q;  // every tap is a channel of a 1x1 convolution
      q.batch = p.batch;
      q.rows = p.rows;
      q.width = p.width;
      q.in = taps * p.in;
      q.out = p.out;
      q.inputs = p.inputs;
      q.partials = p.partials;
      q.result = p.result;
      q.matmul = p.matmul;
      q.resident_inputs = p.resident_inputs;
      q.computed_weights = p.computed_weights;
      every_method(q, {.flattened = true}, loops);
    }
  }

  void every_method(const Product& p, Change change, const Split& loops) {
    const bool grouped = p.groups > 1, one_tap = p.kernel_rows == 1 && p.kernel_width == 1;
    if (amp_shape(target_, p.inputs, p.partials).units >= 1)
      every_split(p, Method::amp, change, loops);
    if (grouped && p.in < 5 && p.out < 5 && p.inputs == DType::f16 && p.stride_width < 3 &&
        p.dilation_width == 1)
      every_split(p, Method::slic, change, loops);
    if (grouped && p.in == 1 && p.out == 1) every_split(p, Method::vmac, change, loops);
    if (p.batch * p.rows * p.width * p.out * p.groups < 65537)
      every_split(p, Method::hmac, change, loops);
    if (p.in == 1 && one_tap) every_split(p, Method::outer_product, change, loops);
  }

  void every_split(const Product& p, Method method, Change change, const Split& loops) {
    const Grain g = grain_of(target_, p, method);
    const auto up = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    Split s = loops;
    for (const int64_t groups : parts(up(p.groups, g.groups)))
      for (const int64_t kernel : parts(p.kernel_rows))
        for (const int64_t out : parts(up(up(p.out, g.out), loops.serial_out)))
          for (const int64_t in : parts(up(up(p.in, g.in), loops.serial_in)))
            for (const int64_t rows : parts(p.rows))
              for (const int64_t width : parts(p.width)) {
                const int64_t used = groups * kernel * out * in * rows * width;
                if (used > options_.tiles) continue;
                s.groups = groups, s.kernel = kernel, s.out = out, s.in = in;
                s.rows = rows, s.width = width;
                s.batch = 1;  // as many parts of the batch as there are tiles for
                for (const int64_t batch : parts(p.batch))
                  if (used * batch <= options_.tiles) s.batch = batch;
                add(p, method, change, s);
              }
  }

  void add(const Product& p, Method method, Change change, const Split& s) {
    TileWork work;
    PlanCost cost;
    if (!try_plan_cost(target_, p, options_, method, s, change, work, cost)) return;
    least = std::min(least, cost.bound_bytes);
    if (static_cast<double>(cost.bound_bytes) > bound_) return;
    found = true;
    if (s.serial_in * s.serial_out > 1) {
      loop = std::min(loop, {cost.total, cost.bound_bytes});
    } else if (const std::pair key(cost.objective, cost.bound_bytes); key < plain) {
      plain = key;
      total = cost.total;
    }
  }

  const Target& target_;
  const PlanOptions options_;
  double bound_;
};

void is_the_best(const Target& t, const Product& p, const PlanOptions& o) {
  const Plan plan = plan_product(t, p, o);
  const AllPlans all(t, p, o);
  EXPECT_EQ(plan.within_memory, all.found);
  if (!all.found)
    EXPECT_EQ(plan.cost.bound_bytes, all.least);
  else if (all.loop.first < all.total)
    EXPECT_EQ(std::pair(plan.cost.total, plan.cost.bound_bytes), all.loop);
  else
    EXPECT_EQ(std::pair(plan.cost.objective, plan.cost.bound_bytes), all.plain);
  // The costs of the plan are those of its product, split and work.
  TileWork work;
  PlanCost cost;
  ASSERT_TRUE(try_plan_cost(t, plan.product, o, plan.method, plan.split,
                            {plan.swapped, plan.flattened}, work, cost));
  EXPECT_EQ(cost.total, plan.cost.total);
  EXPECT_EQ(cost.bound_bytes, plan.cost.bound_bytes);
  EXPECT_EQ(work.field(), plan.work.field());
  EXPECT_LE(plan.split.tiles(), o.tiles ? o.tiles : t.tiles);
  // The operands of a transposed product keep their places in memory.
  EXPECT_EQ(plan.product.resident_inputs, plan.swapped ? !p.computed_weights : p.resident_inputs);
  EXPECT_EQ(plan.product.computed_weights, plan.swapped ? !p.resident_inputs : p.computed_weights);
  EXPECT_EQ(plan.product.multiplies() % p.multiplies(), 0);  // joined groups multiply more zeros
}

TEST(Planner, FindsTheBestOfAllPlans) {
  std::mt19937 random(41);
  const auto one = [&](std::initializer_list<int64_t> of) {
    return of.begin()[random() % of.size()];
  };
  for (int i = 0; i < 600; i++) {
    const Target& t = target_of(one({0, 1}) ? "c600" : "mk2");
    Product p;
    p.inputs = one({0, 1, 1}) ? DType::f16 : DType::f32;
    p.partials = p.inputs == DType::f32 || one({0, 1}) ? DType::f32 : DType::f16;
    p.result = p.inputs;
    p.resident_inputs = one({0, 1}) != 0;
    p.computed_weights = one({0, 1}) != 0;
    p.in = one({1, 1, 2, 3, 4, 5, 8, 16, 29, 64});
    p.out = one({1, 1, 2, 3, 4, 5, 16, 33, 80});
    p.batch = one({1, 2, 3, 7, 40, 129});
    if (one({0, 0, 1})) {
      p.matmul = true;
      p.in = one({1, 7, 32, 100});
    } else {
      p.groups = one({1, 1, 2, 4, 6, 16});
      p.rows = one({1, 2, 5, 9});
      p.width = one({1, 3, 8});
      p.kernel_rows = one({1, 1, 2, 3, 5});
      p.kernel_width = one({1, 1, 3, 4});
      p.stride_rows = one({1, 2});
      p.stride_width = one({1, 2, 3});
      p.dilation_width = one({1, 1, 2});
    }
    PlanOptions o{.tiles = one({1, 2, 4, 6, 9})};
    // Some bounds are smaller than the best plan needs, so that the plan has a loop or exceeds it.
    if (one({0, 1}))
      o.memory_proportion = static_cast<double>(plan_product(t, p, o).cost.bound_bytes) *
                            static_cast<double>(one({20, 50, 90, 100})) / 100 /
                            static_cast<double>(t.bytes_per_tile);
    SCOPED_TRACE(i);
    is_the_best(t, p, o);
    if (HasFailure()) return;
  }
}

// A product of random sizes and types.
Product any_product(std::mt19937& random, const Target& t) {
  const auto size = [&](int least, int most) {  // powers of 2 that are not whole numbers
    const auto n = static_cast<int64_t>(std::exp2(
        least + static_cast<double>(random() % 1000) / 1000 * static_cast<double>(most - least)));
    return random() % 2 ? n : (n + 63) / 64 * 64;
  };
  Product p;
  p.matmul = true;
  p.batch = size(0, 8);
  p.in = size(4, 14);
  p.out = size(4, 16);
  const auto type = random() % 4;
  if (type == 0) p.inputs = p.partials = p.result = DType::f32;
  if (type == 1) p.partials = DType::f32;
  if (type == 2 && t.quarter) p.inputs = DType::f8_143;
  return p;
}

TEST(Planner, MoreMemoryIsNotSlower) {
  std::mt19937 random(17);
  const auto is_not_slower = [](const Target& t, const Product& p, double tolerance) {
    Plan last;
    for (const double bound : {0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.9}) {
      const Plan plan = plan_product(t, p, {.memory_proportion = bound});
      if (last.cost.total && last.within_memory) {
        EXPECT_TRUE(plan.within_memory);
        EXPECT_LE(static_cast<double>(plan.cost.total),
                  static_cast<double>(last.cost.total) * tolerance)
            << bound;
      }
      last = plan;
    }
  };
  // The chip's library compares plans without a loop by an objective that is not the cycles.
  for (int i = 0; i < 60; i++) {
    const Target& t = target_of(i % 2 ? "c600" : "mk2");
    SCOPED_TRACE(i);
    is_not_slower(t, any_product(random, t), 1.02);
    Product p;
    p.batch = 1 << random() % 4;
    p.rows = p.width = 7 << random() % 4;
    p.kernel_rows = p.kernel_width = random() % 2 ? 3 : 1;
    p.in = static_cast<int64_t>(1 + random() % 512);
    p.out = static_cast<int64_t>(1 + random() % 512);
    is_not_slower(t, p, 1.15);
  }
  // Language model heads, of which a loop over output channels rearranges all weights.
  for (const int64_t out : {32000, 65536})
    for (const int64_t batch : {1, 4, 8, 32}) {
      SCOPED_TRACE(out * 100 + batch);
      is_not_slower(target_of("c600"), matmul_of(batch, 4096, out), 1.02);
    }
}

// Batches of whole groups, because others are padded. The weights fit on the chip.
TEST(Planner, TheTimeOfASampleDoesNotJump) {
  std::mt19937 random(5);
  for (int i = 0; i < 60; i++) {
    const Target& t = target_of(i % 2 ? "c600" : "mk2");
    Product p = any_product(random, t);
    if (chip_bytes(p.inputs, p.in * p.out) > t.tiles * t.bytes_per_tile / 2) continue;
    const double bound = 0.02 + static_cast<double>(random() % 60) / 100;
    double last = 0;
    int64_t before = 0;
    for (const int64_t batch : {16, 32, 48, 64, 96, 128}) {
      p.batch = batch;
      const Plan plan = plan_product(t, p, {.memory_proportion = bound});
      if (!plan.within_memory) break;
      const auto total = static_cast<double>(plan.cost.total);
      SCOPED_TRACE(testing::Message()
                   << i << ": [" << batch << "," << p.in << "] x " << p.out << ", " << bound);
      if (before) {
        EXPECT_LT(total / static_cast<double>(batch), last / static_cast<double>(before) * 1.35);
        EXPECT_GT(total, last * 0.8);
      }
      last = total;
      before = batch;
    }
  }
}

// Sizes at the limits of methods and changes, so that a size that is larger or smaller by one has
// another plan.
TEST(Planner, FindsTheBestAtTheLimitsOfMethods) {
  const Target& t = target_of("c600");
  const PlanOptions o{.tiles = 4};
  for (const int64_t field : {65535, 65536, 65537}) {  // results of hmac
    Product p;
    p.batch = field;
    is_the_best(t, p, o);
  }
  for (const int64_t in :
       {28, 29, 64, 65, 85, 86}) {  // channels of products whose taps become channels
    Product p;
    p.in = in;
    p.rows = p.width = 4;
    p.kernel_width = 3;
    is_the_best(t, p, o);
    p.kernel_rows = 3;
    is_the_best(t, p, o);
  }
  for (const int64_t taps : {2, 4, 8, 16, 32, 64})
    for (const int64_t more : {-1, 0, 1}) {
      Product p;
      p.in = 256 / taps + more;
      p.rows = 4;
      p.kernel_width = taps;
      p.out = 3;
      is_the_best(t, p, o);
    }
  for (const int64_t channels : {1, 2, 3, 4, 5})  // channels of slic and vmac
    for (const int64_t groups : {1, 2, 3, 4, 32})
      for (const int64_t stride : {1, 2, 3}) {
        Product p;
        p.groups = groups;
        p.in = p.out = channels;
        p.rows = p.width = 6;
        p.kernel_rows = p.kernel_width = 3;
        p.stride_width = stride;
        is_the_best(t, p, o);
        p.in = 1;
        is_the_best(t, p, o);
        p.dilation_width = 2;
        is_the_best(t, p, o);
      }
}

TEST(Planner, RefusesEverySizeThatIsNotPositive) {
  const Target& t = target_of("mk2");
  for (int64_t Product::* size :
       {&Product::groups, &Product::batch, &Product::rows, &Product::width, &Product::in,
        &Product::out, &Product::kernel_rows, &Product::kernel_width, &Product::stride_rows,
        &Product::stride_width}) {
    Product p;
    EXPECT_NO_THROW(plan_with(t, p, {}, Method::amp, {}));
    p.*size = 0;
    EXPECT_THROW(plan_with(t, p, {}, Method::amp, {}), Error);
    EXPECT_THROW(plan_product(t, p, {}), Error);
  }
  const Plan plan = plan_with(t, Product(), {}, Method::amp, {});
  EXPECT_TRUE(!plan.swapped && !plan.flattened && plan.within_memory);
}

}  // namespace
}  // namespace poprt::ipu

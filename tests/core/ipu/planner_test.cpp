#include "ipu/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
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
  EXPECT_EQ(plan.cost.weight_exchange, 507 + 150);  // a tile stores 19 bytes of them
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

}  // namespace
}  // namespace poprt::ipu

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
  EXPECT_LE(plan_product(t, p, options).cost.total, plan_product(t, p, {}).cost.total);
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
  EXPECT_GE(r.within(1.3), 0.8);
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
  EXPECT_EQ(plan.cost.weight_exchange, 512 + 150);
  EXPECT_EQ(plan.cost.cast, 924 + 150);
  EXPECT_EQ(plan.cost.temporary_bytes, 20480);
}

TEST(Planner, StaysWithinTheBoundOrLoops) {
  const Target& t = target_of("mk2");
  const Product p = matmul_of(1000, 4096, 30000);
  for (const double bound : {0.6, 0.3, 0.15}) {
    const Plan plan = plan_product(t, p, {.memory_proportion = bound});
    EXPECT_TRUE(plan.within_memory) << bound;
    EXPECT_LE(static_cast<double>(plan.cost.temporary_bytes), bound * 638976) << bound;
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

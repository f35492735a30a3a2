#include "ipu/amp.h"

#include <gtest/gtest.h>

namespace poprt::ipu {
namespace {

TileWork block(int64_t field) {
  TileWork w;
  w.rows = field;
  w.in = w.out = 16;
  return w;
}

TEST(Amp, UnitValuesOfTheCostFunctions) {
  const Target& t = target_of("mk2");
  EXPECT_EQ(amp_1x1_cycles(t, block(16)), 409);
  EXPECT_EQ(amp_1x1_cycles(t, block(96)), 711);
  EXPECT_EQ(amp_1x1_cycles(t, block(2048)), 8521);
  TileWork w = block(96);
  w.in = 64;
  w.partials = DType::f32;
  EXPECT_EQ(amp_1x1_cycles(t, w), 4755);
}

// The sweep of one tile that was measured on a Bow IPU, in TFLOPS of 1472 tiles.
TEST(Amp, IsWithinThreePercentOfTheMeasuredSweep) {
  const Target& t = target_of("bow");
  constexpr std::pair<int64_t, double> kMeasured[] = {
      {16, 55.5},    {64, 152.8},   {96, 186.9},  {128, 211.1}, {192, 243.4},
      {256, 264.0},  {384, 286.6},  {512, 299.8}, {768, 314.6}, {1024, 322.7},
      {1536, 330.7}, {2016, 334.8}, {2048, 334.9}};
  for (const auto& [rows, tflops] : kMeasured) {
    const double flops = 2.0 * static_cast<double>(rows) * 16 * 16 * 1472;
    const double measured = flops / (tflops * 1e12) * 1.85e9;
    const double ratio = static_cast<double>(amp_1x1_cycles(t, block(rows))) / measured;
    EXPECT_NEAR(ratio, 1, 0.03) << rows;
  }
}

TEST(Amp, WideLoadsHalveTheTimeThatWeightsNeed) {
  const Target& t = target_of("mk2");
  TileWork w = block(16);
  w.wide_loads = true;
  EXPECT_EQ(amp_1x1_cycles(t, w), 409 - 32);
}

TEST(Amp, RatesOfTheDataSheets) {
  TileWork w;
  w.rows = 6000;
  w.in = w.out = 512;
  const auto rate = [&](const char* target, DType inputs, DType partials) {
    w.inputs = inputs;
    w.partials = partials;
    return static_cast<double>(w.rows * w.in * w.out) /
           static_cast<double>(amp_1x1_cycles(target_of(target), w));
  };
  EXPECT_NEAR(rate("c600", DType::f16, DType::f16), 64, 3);
  EXPECT_NEAR(rate("c600", DType::f16, DType::f32), 32, 2);
  EXPECT_NEAR(rate("c600", DType::f32, DType::f32), 16, 1);
  EXPECT_NEAR(rate("c600", DType::f8_143, DType::f16), 128, 8);
  EXPECT_NEAR(rate("mk1", DType::f16, DType::f16), 32, 2);
  EXPECT_NEAR(rate("mk1", DType::f32, DType::f32), 8, 1);
}

TEST(Amp, OnlyC600MultipliesQuarters) {
  TileWork w = block(96);
  w.inputs = DType::f8_143;
  EXPECT_LT(amp_1x1_cycles(target_of("bow"), w), 0);
  EXPECT_GT(amp_1x1_cycles(target_of("c600"), w), 0);
}

TEST(Amp, AKernelCostsItsTaps) {
  const Target& t = target_of("mk2");
  TileWork w;
  w.rows = 14;
  w.width = 14;
  w.in = w.out = 64;
  const int64_t one = vertex_cycles(t, Method::amp, w);
  w.kernel_rows = w.kernel_width = 3;
  const int64_t nine = vertex_cycles(t, Method::amp, w);
  EXPECT_GT(nine, 8 * one);
  EXPECT_LT(nine, 14 * one);
}

TEST(Amp, VectorMethodsTakeOnlyTheirShapes) {
  const Target& t = target_of("mk2");
  TileWork depthwise;
  depthwise.groups = 64;
  depthwise.rows = depthwise.width = 14;
  depthwise.kernel_rows = depthwise.kernel_width = 3;
  EXPECT_GT(vertex_cycles(t, Method::vmac, depthwise), 0);
  EXPECT_GT(vertex_cycles(t, Method::slic, depthwise), 0);
  EXPECT_LT(vertex_cycles(t, Method::slic, depthwise), vertex_cycles(t, Method::vmac, depthwise));
  EXPECT_LT(vertex_cycles(t, Method::outer_product, depthwise), 0);
  TileWork dense = block(96);
  EXPECT_LT(vertex_cycles(t, Method::vmac, dense), 0);
  EXPECT_LT(vertex_cycles(t, Method::slic, dense), 0);
}

}  // namespace
}  // namespace poprt::ipu

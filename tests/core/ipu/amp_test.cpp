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

// The last worker starts 14 cycles after the first one. If the first one has another element, which
// takes 4 cycles of each of the six workers, it hides this.
TEST(Amp, EqualWorkersOfQuartersEndWithTheLastOne) {
  const Target& t = target_of("c600");
  TileWork equal = block(96), longer = block(97);
  equal.inputs = longer.inputs = DType::f8_143;
  EXPECT_EQ(amp_1x1_cycles(t, longer) - amp_1x1_cycles(t, equal), 6 * 4 - 14);
}

// Each of the six workers computes one row, for each of nine taps. With 16 units for half partials,
// or 8 for float partials, two elements of a row of halves take as long as three; otherwise they
// take one cycle less. A third column has 6 * 16 more partials to clear.
TEST(Amp, TwoHalvesOfARowTakeAsLongAsThreeWithTheFullUnits) {
  const auto difference = [](const char* target, DType inputs, DType partials) {
    TileWork w;
    w.rows = 6;
    w.width = 2;
    w.in = w.out = 16;
    w.kernel_rows = w.kernel_width = 3;
    w.inputs = inputs;
    w.partials = partials;
    const Target& t = target_of(target);
    const int64_t two = vertex_cycles(t, Method::amp, w);
    w.width = 3;
    return vertex_cycles(t, Method::amp, w) - two -
           6 * 16 * dtype_bits(partials) / 8 / t.data_path_bytes;
  };
  EXPECT_EQ(difference("mk2", DType::f16, DType::f16), 0);
  EXPECT_EQ(difference("mk2", DType::f16, DType::f32), 0);
  EXPECT_EQ(difference("mk1", DType::f16, DType::f16), 2 * 9 * 6) << "two groups of outputs";
  EXPECT_EQ(difference("mk2", DType::f32, DType::f32), 2 * 9 * 6) << "two groups of inputs";
}

TEST(Amp, SlicTakesHalvesOfUpToFourChannelsAndAStrideOfTwo) {
  const auto takes = [](DType inputs, int64_t in, int64_t out, int64_t stride) {
    TileWork w;
    w.rows = w.width = 14;
    w.kernel_rows = w.kernel_width = 3;
    w.inputs = inputs;
    w.in = in;
    w.out = out;
    w.stride = stride;
    return vertex_cycles(target_of("mk2"), Method::slic, w) > 0;
  };
  EXPECT_TRUE(takes(DType::f16, 4, 4, 2));
  EXPECT_FALSE(takes(DType::f32, 4, 4, 2));
  EXPECT_FALSE(takes(DType::f16, 5, 4, 2));
  EXPECT_FALSE(takes(DType::f16, 4, 5, 2));
  EXPECT_FALSE(takes(DType::f16, 4, 4, 3));
}

TEST(Amp, VectorMethodsRefuseEachWrongSize) {
  const auto takes = [](Method method, int64_t in, int64_t out, int64_t taps) {
    TileWork w;
    w.rows = w.width = 14;
    w.kernel_width = taps;
    w.in = in;
    w.out = out;
    return vertex_cycles(target_of("mk2"), method, w) > 0;
  };
  EXPECT_TRUE(takes(Method::vmac, 1, 1, 3));
  EXPECT_FALSE(takes(Method::vmac, 2, 1, 3));
  EXPECT_FALSE(takes(Method::vmac, 1, 2, 3));
  EXPECT_TRUE(takes(Method::outer_product, 1, 2, 1));
  EXPECT_FALSE(takes(Method::outer_product, 2, 2, 1));
  EXPECT_FALSE(takes(Method::outer_product, 1, 2, 3));
}

// Seven parts of 25 elements would take less time than six of 30 at most, but no more than six
// workers compute the parts of a row.
TEST(Amp, ARowHasAtMostOnePartForEachWorker) {
  TileWork w;
  w.rows = 11;
  w.width = 175;
  w.kernel_width = 2;
  w.in = 8;
  w.out = 16;
  w.inputs = w.partials = DType::f32;
  EXPECT_EQ(amp_nx1_cycles(target_of("mk2"), w), 49763);
}

}  // namespace
}  // namespace poprt::ipu

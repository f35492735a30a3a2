// The kernel that is chosen for each geometry. poprt/conv_test and blocked_layout_test check its
// operands and results.
#include "ops/common/conv_kernel.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "core/ops/built_node.h"

namespace poprt::ops {
namespace {

// `size` by `size` pixels under a filter of `kernel` by `kernel` that keeps their number.
ConvProblem problem(int64_t groups, int64_t c, int64_t m, int64_t size, int64_t kernel,
                    int64_t dilation = 1) {
  ConvProblem p;
  p.batch = 1;
  p.groups = groups;
  p.c = c;
  p.m = m;
  p.axes[1] = p.axes[2] = {size, size, kernel, 1, kernel / 2 * dilation, dilation};
  return p;
}

TEST(ConvKernel, EachGeometryGetsTheFirstThatFits) {
  const auto name = [](const ConvProblem& p) { return choose_conv_kernel(p).name(); };
  EXPECT_EQ(name(problem(1, 64, 64, 56, 1)), "conv");
  EXPECT_EQ(name(problem(1, 64, 64, 56, 3)), "conv_winograd");
  EXPECT_EQ(name(problem(1, 64, 64, 56, 5)), "conv");
  EXPECT_EQ(name(problem(2, 64, 64, 56, 3)), "conv");
  EXPECT_EQ(name(problem(64, 1, 1, 56, 3)), "conv_depthwise");
  EXPECT_EQ(name(problem(64, 1, 1, 56, 7)), "conv_depthwise");
  EXPECT_EQ(name(problem(64, 1, 1, 56, 9)), "conv_depthwise");
  EXPECT_EQ(name(problem(64, 1, 1, 56, 11)), "conv_grouped");
  for (const int64_t size : {2, 4, 8, 16})
    EXPECT_EQ(name(problem(4, size, size, 56, 3)), "conv_grouped");
  EXPECT_EQ(name(problem(1, 64, 64, 20, 3, 12)), "conv_dilated");
  EXPECT_EQ(name(problem(1, 64, 64, 60, 3, 2)), "conv");
  ConvProblem p = problem(1, 3, 64, 56, 3);
  p.plain = true;
  EXPECT_EQ(name(p), "conv_stem");
  p.plain_result = true;
  EXPECT_EQ(name(p), "conv_plain");
  p = problem(1, 64, 64, 56, 3);
  p.normalized = true;
  EXPECT_EQ(name(p), "conv_normalized");
  p = problem(1, 64, 64, 56, 3);
  p.deep = true;
  p.axes[0] = {8, 8, 3, 1, 1, 1};
  EXPECT_EQ(name(p), "conv_winograd");
  p.axes[1].stride = 2;
  EXPECT_EQ(name(p), "conv");
}

TEST(ConvKernel, AGroupAfterPairsIsComputedByConv) {
  ConvProblem p = problem(1, 48, 48, 20, 3);
  p.pair_c = p.pair_m = 24;
  EXPECT_EQ(choose_conv_kernel(p).name(), "conv_winograd");  // a pair alone
  p.single = true;
  p.bf16 = true;
  for (const int64_t dilation : {1, 12}) {
    p.axes[1].dilation = p.axes[1].pad = dilation;
    const ConvKernel k = choose_conv_kernel(p);
    EXPECT_TRUE(std::get<kernels::calls::Conv>(k.call).single);
    EXPECT_EQ(k.packed_count(), 9 * 16 * (48 * 3 + 24 * 2));
  }
  p.normalized = true;
  EXPECT_FALSE(conv_kernel_exists(p));
}

TEST(ConvKernel, SlicesThatAreConvolvedAlongTheDepthAreRows) {
  ConvProblem p = problem(1, 64, 64, 28, 1);
  p.deep = true;
  p.axes[0] = {8, 8, 3, 1, 1, 1};
  const ConvKernel k = choose_conv_kernel(p);
  const auto& call = std::get<kernels::calls::Conv>(k.call);
  EXPECT_FALSE(call.depth);
  EXPECT_EQ(call.conv.h, 8);
  EXPECT_EQ(call.conv.w, 28 * 28);
  EXPECT_EQ(call.conv.kh, 3);
  EXPECT_EQ(call.conv.pad_h, 1);
  // Two of the three taps of a single slice are in the padding.
  p.axes[0] = {1, 1, 3, 1, 1, 1};
  EXPECT_EQ(choose_conv_kernel(p).name(), "conv_dilated");
  p.axes[1] = {28, 14, 1, 2, 0, 1};
  EXPECT_EQ(std::get<kernels::calls::Conv>(choose_conv_kernel(p).call).depth->kd, 3);
}

TEST(ConvKernel, Bf16IsUsedWhereItIsFaster) {
  const auto name = [](ConvProblem p) {
    p.bf16 = true;
    return choose_conv_kernel(p).name();
  };
  EXPECT_EQ(name(problem(1, 64, 64, 56, 1)), "conv_bf16");
  EXPECT_EQ(name(problem(2, 64, 64, 56, 3)), "conv_bf16");
  // Winograd in f32 computes a quarter of the products, which pays for large images.
  for (const int64_t channels : {64, 128, 256, 512}) {
    for (const int64_t size : {7, 10, 14})
      EXPECT_EQ(name(problem(1, channels, channels, size, 3)), "conv_bf16") << size;
    for (const int64_t size : {20, 28, 56})
      EXPECT_EQ(name(problem(1, channels, channels, size, 3)), "conv_winograd") << size;
  }
  EXPECT_EQ(name(problem(64, 1, 1, 56, 3)), "conv_depthwise");
  EXPECT_EQ(name(problem(4, 16, 16, 56, 3)), "conv_grouped");
  // More than half of the products are those of the padding.
  EXPECT_EQ(name(problem(1, 64, 64, 20, 3, 18)), "conv_dilated");
  EXPECT_EQ(name(problem(1, 64, 64, 20, 3, 4)), "conv_bf16");
  ConvProblem p = problem(1, 64, 64, 56, 1);
  p.normalized = true;
  EXPECT_EQ(name(p), "conv_normalized");
  p = problem(1, 3, 64, 56, 3);
  p.plain = true;
  EXPECT_EQ(name(p), "conv_stem_bf16");
  p.axes[2].dilation = 2;
  EXPECT_EQ(name(p), "conv_stem");
  p.axes[2].dilation = 1;
  p.deep = true;
  EXPECT_EQ(name(p), "conv_stem");
  p.deep = false;
  p.plain_result = true;
  EXPECT_EQ(name(p), "conv_plain");
}

// The tile of the Winograd convolution, or 0 for a direct sum.
int64_t tile_of(const ConvProblem& p, int64_t largest_tile = kLargestWinogradTile) {
  const ConvKernel k = choose_conv_kernel(p, -1, largest_tile);
  const auto* call = std::get_if<kernels::calls::ConvWinograd>(&k.call);
  return call ? call->tile : 0;
}

TEST(ConvKernel, WinogradIsUsedWhereItIsFaster) {
  for (const int64_t channels : {64, 128, 256, 512}) {
    SCOPED_TRACE(channels);
    const auto tile = [&](int64_t batch, int64_t size) {
      ConvProblem p = problem(1, channels, channels, size, 3);
      p.batch = batch;
      return tile_of(p);
    };
    // With few tiles, the transform of the weights takes longer than it saves.
    for (const int64_t size : {1, 2, 4, 5, 6, 7}) EXPECT_EQ(tile(1, size), 0) << size;
    for (const int64_t size : {8, 10, 14}) EXPECT_EQ(tile(1, size), 2) << size;
    for (const int64_t size : {20, 28, 56}) EXPECT_EQ(tile(1, size), 4) << size;
    // A batch has more of them.
    for (const int64_t size : {4, 7, 8, 10, 14}) EXPECT_EQ(tile(8, size), 4) << size;
    EXPECT_EQ(tile(8, 6), 2);
    EXPECT_EQ(tile(8, 1), 0);
    EXPECT_EQ(tile(32, 1), 0);
    EXPECT_EQ(tile(32, 2), 2);
    EXPECT_EQ(tile(32, 3), 4);
  }
}

TEST(ConvKernel, RowsOfPixelsAreDirectSumsThatSkipTheirPadding) {
  ConvProblem p = problem(1, 256, 256, 80, 3);
  p.batch = 8;
  EXPECT_EQ(tile_of(p), 4);
  p.axes[1].in = p.axes[1].out = 1;  // two thirds of the products would be those of padding
  EXPECT_EQ(choose_conv_kernel(p).name(), "conv_dilated");
}

TEST(ConvKernel, TheTileIsAtMostTheLargest) {
  const ConvProblem p = problem(1, 64, 64, 56, 3);
  EXPECT_EQ(tile_of(p, 4), 4);
  EXPECT_EQ(tile_of(p, 2), 2);
  EXPECT_EQ(tile_of(p, 0), 0);
  EXPECT_EQ(tile_of(problem(1, 8, 8, 56, 3)), 0);  // half a block of channels
}

TEST(ConvKernel, RefusesUnsupportedProblems) {
  const auto message_for = [](const ConvProblem& p) {
    try {
      (void)choose_conv_kernel(p);
    } catch (const Error& e) {
      return e.message();
    }
    return std::string();
  };
  const std::string none = "no blocked convolution of ";
  EXPECT_EQ(message_for(problem(4, 24, 24, 56, 3)), none + "4 groups of 24 to 24 channels");
  EXPECT_EQ(message_for(problem(4, 8, 16, 56, 3)), none + "4 groups of 8 to 16 channels");
  EXPECT_EQ(message_for(problem(4, 3, 3, 56, 3)), none + "4 groups of 3 to 3 channels");
  for (const int64_t size : {1, 2, 4, 8, 16, 32})
    EXPECT_EQ(message_for(problem(4, size, size, 56, 3)), "");
  ConvProblem p = problem(4, 8, 8, 56, 3);
  p.deep = true;
  EXPECT_EQ(message_for(p), none + "4 groups of 8 to 8 channels in three dimensions");
  p = problem(4, 16, 32, 56, 3);
  p.deep = true;
  EXPECT_EQ(message_for(p), "");
  p = problem(4, 8, 8, 56, 3);
  p.normalized = true;
  EXPECT_EQ(message_for(p), none + "4 groups of 8 to 8 channels with a prologue");
  for (const int64_t pad : {-1, 0}) {
    p = problem(1, 8, 8, 56, 3);
    p.axes[1].pad = pad;
    EXPECT_EQ(message_for(p), pad < 0 ? none + "1 groups of 8 to 8 channels" : "");
  }
  // Plain images have fewer than 16 channels, in one group, and nothing in front.
  p = problem(1, 15, 8, 56, 3);
  p.plain = true;
  EXPECT_EQ(message_for(p), "");
  p.normalized = true;
  EXPECT_EQ(message_for(p), none + "1 groups of 15 to 8 channels in plain layout with a prologue");
  p = problem(1, 16, 8, 56, 3);
  p.plain = true;
  EXPECT_EQ(message_for(p), none + "1 groups of 16 to 8 channels in plain layout");
  p = problem(2, 8, 8, 56, 3);
  p.plain = true;
  EXPECT_EQ(message_for(p), none + "2 groups of 8 to 8 channels in plain layout");
  p = problem(1, 16, 8, 56, 3);
  p.plain_result = true;
  EXPECT_EQ(message_for(p), none + "1 groups of 16 to 8 channels");
}

TEST(ConvSupported, ReportsTheCasesOfTheBlockedKernels) {
  const auto supported = [](Shape x, Shape w, int64_t group, bool constant = true) {
    BuiltNode c("Conv", "",
                {{Tensor::zeros(DType::f32, x), false}, {Tensor::zeros(DType::f32, w), constant}},
                {{"group", group}});
    infer(*c.node);
    return poprt_conv_supported(*c.node);
  };
  EXPECT_TRUE(supported({1, 3, 8, 8}, {8, 3, 3, 3}, 1));
  EXPECT_TRUE(supported({1, 32, 8, 8}, {32, 1, 3, 3}, 32));
  EXPECT_TRUE(supported({1, 64, 8, 8}, {64, 32, 1, 1}, 2));
  EXPECT_TRUE(supported({1, 64, 8, 8}, {64, 32, 1, 1}, 2, false));
  EXPECT_FALSE(supported({1, 64, 3, 3}, {64, 32, 1, 1}, 2, false));  // few pixels
  EXPECT_TRUE(supported({1, 32, 8, 8}, {32, 4, 3, 3}, 8));
  EXPECT_FALSE(supported({1, 32, 8, 8, 8}, {32, 4, 3, 3, 3}, 8));
  EXPECT_TRUE(supported({1, 64, 8, 8, 8}, {32, 32, 3, 3, 3}, 2));
  EXPECT_FALSE(supported({1, 24, 8, 8}, {24, 12, 1, 1}, 2));
  EXPECT_TRUE(supported({1, 96, 8, 8}, {96, 24, 3, 3}, 4));
  EXPECT_FALSE(supported({1, 96, 8, 8}, {96, 24, 3, 3}, 4, false));
  EXPECT_TRUE(supported({1, 72, 8, 8}, {72, 24, 3, 3}, 3));
  EXPECT_FALSE(supported({1, 72, 8, 8}, {72, 24, 3, 3}, 3, false));
  EXPECT_TRUE(supported({1, 32, 8, 8}, {64, 8, 1, 1}, 4));
  EXPECT_FALSE(supported({1, 32, 8, 8}, {64, 4, 1, 1}, 8));
  EXPECT_TRUE(supported({1, 8, 8, 8}, {8, 1, 1, 1}, 8));
  EXPECT_FALSE(supported({1, 7, 8, 8}, {7, 1, 1, 1}, 7));
  EXPECT_TRUE(supported({1, 3, 8}, {8, 3, 3}, 1));
  EXPECT_FALSE(supported({1, 3, 8, 8, 8, 8}, {8, 3, 3, 3, 3, 3}, 1));
}

}  // namespace
}  // namespace poprt::ops

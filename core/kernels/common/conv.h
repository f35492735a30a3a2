// What the blocked convolution kernels share: operands [x, weights, bias?, residual?, y] (f32),
// ints [N, groups, C, M, H, W, OH, OW, kh, kw, stride_h, stride_w, pad_h, pad_w, dilation_h,
// dilation_w, activation, residual_after] with C and M channels per group, floats [a, b] of the
// activation; `conv` and `conv_stem` may have six more ints for a third dimension, [D, OD, kd,
// stride_d, pad_d, dilation_d], whose slices follow each other. y and residual are [N, groups *
// ceil(M/16), OH, OW, 16]; bias has room for whole blocks.
#pragma once

#include <vector>

#include "kernels/isa/conv.h"
#include "kernels/kernel.h"

namespace poprt::kernels {

inline constexpr size_t kConvInts = 18, kConvDepthInts = 6;

struct ConvCall {
  isa::ConvShape shape;
  int64_t x_elements = 0;  // needed of a blocked x
  double flops = 0, io_bytes = 0, outputs = 0;
};

// Checks sizes of everything but x and weights. `extra` integers may follow, those of a third
// dimension among them. Throws invalid_argument naming the kernel.
ConvCall read_conv(std::string_view kernel, const Call& call, size_t extra = 0);
// With a third dimension or without; of a plain y [N, groups * M, OD, OH, OW] the bias is [groups *
// M].
ConvCall read_deep_conv(std::string_view kernel, const Call& call, bool plain_y = false);
// Throws invalid_argument unless operand i is there, f32 and has `elements`.
void expect_f32(std::string_view kernel, const Call& call, size_t i, int64_t elements);

// Places of (channel, ky, kx) in the copied rows, for the stem kernel, times `unit`.
std::vector<int32_t> tap_offsets(const isa::ConvShape& s, int64_t channels,
                                 const isa::RowsLayout& layout, int64_t unit);

// Nanoseconds on one thread.
double conv_ns(const ConvCall& call, double flops);

}  // namespace poprt::kernels

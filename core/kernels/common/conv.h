// Checks and helpers that the blocked convolution kernels share (calls/common/blocked_conv.h):
// operands [x, weights, bias?, residual?, y], all f32; some kernels support activations of bf16.
#pragma once

#include <optional>
#include <vector>

#include "kernels/calls/common/blocked_conv.h"
#include "kernels/isa/conv.h"
#include "kernels/kernel.h"

namespace poprt::kernels {

struct ConvCall {
  isa::ConvShape shape;
  int64_t x_elements = 0;  // required size of a blocked x
  double flops = 0, io_bytes = 0, outputs = 0;
};

// The types of activations that a kernel supports.
enum class ConvTypes { f32, bf16_or_f32 };

// Checks all sizes except those of x and weights. For a plain y [batch, groups * m, od, oh, ow] the
// bias is [groups * m]. Throws invalid_argument naming the kernel, or out_of_range if a size
// overflows.
ConvCall read_conv(std::string_view kernel, const calls::BlockedConv& conv,
                   std::span<const Operand> operands,
                   const std::optional<calls::ConvDepth>& depth = {}, bool plain_y = false,
                   ConvTypes types = ConvTypes::f32);
// Throws invalid_argument unless operand i is present, bf16 or f32, and has room for `elements`
// elements.
void expect_stored(std::string_view kernel, std::span<const Operand> operands, size_t i,
                   int64_t elements);
// Throws invalid_argument unless operand i is present, f32 and has room for `elements` elements.
void expect_f32(std::string_view kernel, std::span<const Operand> operands, size_t i,
                int64_t elements);
// Throws invalid_argument unless the operand is bf16 and has room for `vectors` times 16 pairs.
void expect_bf16_weights(std::string_view kernel, const Operand& weights, int64_t vectors);

// The offsets of (channel, ky, kx) in the copied rows of the stem kernel, times `unit`. With three
// dimensions, `channels` counts the pairs (c, kz).
std::vector<int32_t> tap_offsets(const isa::ConvShape& s, int64_t channels,
                                 const isa::RowsLayout& layout, int64_t unit);

// Runs a kernel whose parameters are a shape, its blocking and the functions of an instruction set.
template <class Params>
void run_conv(const void* params, void* const* data, int64_t begin, int64_t end,
              std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  p.table->run(p.shape, p.blocking, static_cast<const float*>(data[0]),
               static_cast<const float*>(data[1]), static_cast<const float*>(data[2]),
               static_cast<const float*>(data[3]), static_cast<float*>(data[4]), begin, end,
               reinterpret_cast<float*>(scratch));
}

// Estimated nanoseconds on one thread.
double conv_ns(const ConvCall& call, double flops);

}  // namespace poprt::kernels

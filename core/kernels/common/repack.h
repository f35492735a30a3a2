// Converts packed f32 weights of a product or a convolution to the packed 16-bit weights of the
// kernels that read those. The result is equal to that of packing the rounded weights, so a program
// can change its precision without the model that it was compiled from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/half.h"
#include "kernels/isa/narrow.h"

namespace poprt::kernels {

// From the form of pack_matmul() to the panels of isa/narrow.h, rounded to `format`, which is f16
// or bf16. `to` has packed_narrow_bytes(format, k, n) bytes.
void repack_matmul(std::span<const float> packed, int64_t k, int64_t n, isa::NarrowFormat format,
                   std::span<std::byte> to);
// From panels of f16 to panels of bf16, both in the form of isa/narrow.h.
void repack_halves(std::span<const f16_t> panels, int64_t k, int64_t n, std::span<bf16_t> to);

// From the form of pack_conv() to that of pack_conv_bf16(). `blocks` is the number of blocks of 16
// filters of all groups, `c` the number of channels of a group.
void repack_conv(std::span<const float> packed, int64_t blocks, int64_t c, int64_t taps,
                 std::span<bf16_t> to);
// From the weights of conv_stem to those of conv_stem_bf16.
void repack_conv_stem(std::span<const float> packed, int64_t blocks, int64_t c, int64_t taps,
                      std::span<bf16_t> to);

}  // namespace poprt::kernels

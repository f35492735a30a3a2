// Convolutions on channel-blocked activations [N, C/16, H, W, 16] of f32 or bf16 with products of
// bf16 and sums of f32. A step multiplies the values of two adjacent channels of a pixel by sixteen
// columns of two weights, and adds both products to the sums, the odd channel first: one
// `vdpbf16ps`, or two fused multiply-adds. The results are the same, because the threads that run
// kernels flush subnormal numbers (base/denormals.h), as the instruction always does.
//
// K is (channel block, tap, channel in block) as in isa/conv.h; an odd number of channels of the
// last block is padded with one that is zero. The weights are [oc block][pair of K][16][2].
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/isa_table.h"
#include "kernels/isa/conv.h"

namespace poprt::kernels::isa {

// The number of pairs of K of a convolution of one group.
inline int64_t bf16_pairs(int64_t channels, int64_t taps) { return (channels + 1) / 2 * taps; }

struct ConvBf16Table {
  int64_t (*best_vectors)(int64_t pixels, int64_t blocks);
  // Tasks are those of ConvTable::blocked; sums of b.segments segments are added up. Scratch has
  // bf16_input_bytes() and bf16_sum_bytes(). `dots` are products by vdpbf16ps, which only some CPUs
  // have.
  void (*blocked)(bool dots, const ConvShape& s, const ConvBlocking& b, const void* x,
                  const uint16_t* weights, const float* bias, const void* residual, void* y,
                  int64_t begin, int64_t end, std::byte* scratch) noexcept;
  // x is plain f32 [N, C, H, W] with fewer than 16 channels; K is (ky, kx, channel), and the
  // dilation of the columns is 1. Tasks are those of ConvTable::stem with one task for the columns.
  void (*stem)(bool dots, const ConvShape& s, const ConvBlocking& b, const float* x,
               const uint16_t* weights, const float* bias, const void* residual, void* y,
               int64_t begin, int64_t end, std::byte* scratch) noexcept;
};
POPRT_DECLARE_ISA(ConvBf16Table, conv_bf16)

// Whether the inputs of a task are read in place.
inline bool bf16_in_place(const ConvShape& s) {
  return s.bf16_x && s.c % 2 == 0 && s.is_pointwise();
}
// The bytes of the inputs of a task, and of the sums of its register tiles.
inline int64_t bf16_input_bytes(const ConvShape& s, const ConvBlocking& b) {
  return bf16_in_place(s) ? 0 : s.c_blocks * s.taps() * b.pixels * 32;
}
inline int64_t bf16_sum_bytes(const ConvBlocking& b) { return b.vectors * b.pixels * 64; }

// The copy of the input rows of a task of `stem`: [row][column][channels, an even number] of bf16.
struct Bf16Rows {
  int64_t channels, rows, columns;
  int64_t row_bytes() const { return channels * columns * 2; }
  int64_t bytes() const { return rows * row_bytes(); }
};
inline Bf16Rows bf16_rows(const ConvShape& s, int64_t out_rows) {
  return {(s.c + 1) / 2 * 2, (out_rows - 1) * s.stride_h + (s.kh - 1) * s.dilation_h + 1,
          (s.ow - 1) * s.stride_w + s.kw};
}

}  // namespace poprt::kernels::isa

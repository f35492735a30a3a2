// Conversion of rows of numbers to and from 8-bit and 16-bit integers with a scale and a zero
// point.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

enum class Whole { s8, u8, s16, u16, s32 };

struct QuantizeTable {
  // out[i] = saturate(round(x[i] / scale) + zero), ties to even; NaN becomes 0. scale and zero are
  // arrays if `many`, otherwise one element each. Not for s32.
  void (*quantize)(Whole to, void* out, const float* x, const float* scale, const float* zero,
                   bool many, int64_t n) noexcept;
  // out[i] = (x[i] - zero) * scale.
  void (*dequantize)(Whole from, float* out, const void* x, const float* scale, const float* zero,
                     bool many, int64_t n) noexcept;
  // out[i] = saturate(round(x[i] * scale) + zero), ties to even; NaN becomes 0. For s8 and u8 only.
  void (*requantize)(Whole to, void* out, const int32_t* x, const float* scale, float zero,
                     bool many, int64_t n) noexcept;
  // Extends [*low, *high] to contain all elements that are not NaN.
  void (*range)(const float* x, int64_t n, float* low, float* high) noexcept;
  // sums[i] = the sum of x[0 .. n)[i], for rows of `inner` bytes, signed or unsigned.
  void (*sum)(bool is_signed, const uint8_t* x, int64_t n, int64_t inner, int32_t* sums) noexcept;
  // y[i] = table[x[i]] with a table of 256 bytes. `vbmi`: the CPU has AVX512-VBMI.
  void (*map)(bool vbmi, const uint8_t* table, const uint8_t* x, uint8_t* y, int64_t n) noexcept;
};
POPRT_DECLARE_ISA(QuantizeTable, quantize)

}  // namespace poprt::kernels::isa

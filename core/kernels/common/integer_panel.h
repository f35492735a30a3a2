// Products of 8-bit integers with exact 32-bit sums (they wrap, as ONNX's do). One side is laid out
// as a panel of 16-bit values [k][kIntegerPanel], its zero point taken off.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace poprt::kernels {

inline constexpr int64_t kIntegerPanel = 64;

// Element i of a u8 or s8 array.
inline int32_t byte_at(const void* data, bool is_signed, int64_t i) noexcept {
  const auto v = static_cast<const uint8_t*>(data)[i];
  return is_signed ? static_cast<int8_t>(v) : v;
}

inline bool is_byte(DType t) { return t == DType::u8 || t == DType::s8; }

// sums[j] += sum over k of (row[k] - zero) * panel[k][j].
inline void multiply_panel(const void* row, bool is_signed, int32_t zero, const int16_t* panel,
                           int64_t k, int32_t* sums) noexcept {
  uint32_t sum[kIntegerPanel];
  for (int64_t j = 0; j < kIntegerPanel; j++) sum[j] = static_cast<uint32_t>(sums[j]);
  for (int64_t i = 0; i < k; i++, panel += kIntegerPanel) {
    const auto x = static_cast<int16_t>(byte_at(row, is_signed, i) - zero);
    for (int64_t j = 0; j < kIntegerPanel; j++)
      sum[j] += static_cast<uint32_t>(static_cast<int32_t>(x) * static_cast<int32_t>(panel[j]));
  }
  for (int64_t j = 0; j < kIntegerPanel; j++) sums[j] = static_cast<int32_t>(sum[j]);
}

}  // namespace poprt::kernels

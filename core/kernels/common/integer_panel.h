// Reads 8-bit integers, and converts them to the form of isa/integer.h for conv_integer.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "kernels/isa/integer.h"

namespace poprt::kernels {

using isa::kIntegerPanel;
using isa::kIntegerRows;

inline constexpr int64_t kIntegerDepth = 256;  // of a panel; even

// The scratch of a task: a panel, rows and their sums.
struct IntegerScratch {
  int16_t panel[kIntegerDepth * kIntegerPanel];
  int16_t rows[kIntegerRows * kIntegerDepth];
  int32_t sums[kIntegerRows * kIntegerPanel];
};

// Element i of a u8 or s8 array.
inline int32_t byte_at(const void* data, bool is_signed, int64_t i) noexcept {
  const auto v = static_cast<const uint8_t*>(data)[i];
  return is_signed ? static_cast<int8_t>(v) : v;
}

// Row k of the panel, for k < depth. Its element of column j is at [2 * j]. If the depth is odd, a
// row of zeros must follow, which finish_panel() writes.
inline int16_t* panel_row(IntegerScratch& s, int64_t k) noexcept {
  return s.panel + k / 2 * 2 * kIntegerPanel + k % 2;
}
inline void finish_panel(IntegerScratch& s, int64_t depth) noexcept {
  if (depth % 2 == 0) return;
  int16_t* to = panel_row(s, depth);
  for (int64_t j = 0; j < kIntegerPanel; j++) to[2 * j] = 0;
}

// Writes row r of the left operand: `depth` bytes minus their zero point.
inline void fill_row(IntegerScratch& s, int64_t r, const uint8_t* from, bool is_signed,
                     int32_t zero, int64_t depth) noexcept {
  int16_t* to = s.rows + r * kIntegerDepth;
  if (is_signed)
    for (int64_t k = 0; k < depth; k++)
      to[k] = static_cast<int16_t>(static_cast<int8_t>(from[k]) - zero);
  else
    for (int64_t k = 0; k < depth; k++) to[k] = static_cast<int16_t>(from[k] - zero);
  if (depth % 2) to[depth] = 0;
}

}  // namespace poprt::kernels

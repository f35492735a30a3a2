// An integer product of rows and a panel of 64 columns in the form of isa/vnni.h: code shared by
// matmul_integer and matmul_integer_packed. Rows are unsigned, panels are signed. For an operand of
// the other sort, the top bits are flipped and the zero point is shifted by 128.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/common/instruction_set.h"
#include "kernels/common/integer_panel.h"
#include "kernels/isa/vnni.h"

namespace poprt::kernels {

inline int64_t vnni_steps(int64_t k) { return (k + 3) / 4; }
inline constexpr uint8_t kFlip = 0x80;

struct VnniProduct {
  const isa::VnniTable* table = &POPRT_SELECT_ISA(vnni);
  bool vnni = can_use_vnni();
  int64_t n = 0, k = 0;
  bool a_signed = false, b_signed = false, a_rows = false, b_columns = false;

  // Computes rows [first, last) of y[..][n0 + j], j < width. `column_sums` belong to the panel.
  void rows(const uint8_t* a, const void* a_zero, const void* b_zero, const uint8_t* panel,
            const int32_t* column_sums, int64_t n0, int64_t first, int64_t last,
            int32_t* y) const noexcept {
    each_row(a, a_zero, b_zero, panel, n0, first, last,
             [&](int64_t row, const int32_t* sums, int64_t width, int32_t row_zero,
                 const int32_t* zero, int32_t row_rest) {
               table->correct(y + row * n + n0, sums, width, row_zero, column_sums, zero, row_rest);
             });
  }

  // Calls put(row, sums, width, zero of the row, zeros of the columns, factor of these zeros), from
  // which isa::VnniTable::correct computes the result.
  template <class Put>
  void each_row(const uint8_t* a, const void* a_zero, const void* b_zero, const uint8_t* panel,
                int64_t n0, int64_t first, int64_t last, Put put) const noexcept {
    const int64_t width = std::min(isa::kVnniPanel, n - n0), whole = k / 4, rest = k % 4;
    const auto signs = a_signed ? isa::VnniSigns::panel_flip_rows : isa::VnniSigns::panel;
    int32_t zero[isa::kVnniPanel] = {}, sums[isa::kVnniRows * isa::kVnniPanel];
    bool any_zero = false;
    for (int64_t j = 0; j < width; j++) {
      zero[j] =
          (b_zero ? byte_at(b_zero, b_signed, b_columns ? n0 + j : 0) : 0) - (b_signed ? 0 : 128);
      any_zero |= zero[j] != 0;
    }
    for (int64_t i = first; i < last; i += isa::kVnniRows) {
      const int64_t count = std::min(isa::kVnniRows, last - i);
      table->multiply(signs, vnni, a + i * k, k, count, {panel, nullptr, whole}, false, sums);
      if (rest) {
        uint8_t tail[4 * isa::kVnniRows] = {};
        for (int64_t r = 0; r < count; r++)
          std::memcpy(tail + 4 * r, a + (i + r) * k + 4 * whole, static_cast<size_t>(rest));
        table->multiply(signs, vnni, tail, 4, count, {panel + whole * isa::kVnniBytes, nullptr, 1},
                        true, sums);
      }
      for (int64_t r = 0; r < count; r++) {
        const int32_t az =
            (a_zero ? byte_at(a_zero, a_signed, a_rows ? i + r : 0) : 0) + (a_signed ? 128 : 0);
        uint32_t row_rest = 0;
        if (any_zero)
          row_rest = static_cast<uint32_t>(
                         table->row_sum(a + (i + r) * k, k, a_signed ? kFlip : uint8_t{0})) -
                     static_cast<uint32_t>(k) * static_cast<uint32_t>(az);
        put(i + r, sums + r * isa::kVnniPanel, width, az, zero, static_cast<int32_t>(row_rest));
      }
    }
  }

  // Packs columns [n0, n0 + 64) of b [k, n] as a panel of vnni_steps(k) steps; columns after n are
  // zero.
  void pack(const uint8_t* b, int64_t n0, uint8_t* panel) const noexcept {
    const int64_t width = std::min(isa::kVnniPanel, n - n0);
    for (int64_t i = 0; i < vnni_steps(k); i++, panel += isa::kVnniBytes) {
      table->interleave(b + 4 * i * n + n0, n, std::min<int64_t>(4, k - 4 * i), width,
                        b_signed ? uint8_t{0} : kFlip, panel);
      std::fill(panel + 4 * width, panel + isa::kVnniBytes, uint8_t{0});
    }
  }
};

}  // namespace poprt::kernels

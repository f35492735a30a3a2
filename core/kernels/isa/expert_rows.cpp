#include "kernels/isa/expert_rows.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace poprt::kernels::isa {
namespace {

POPRT_INLINE f32x16 load_weights(const float* p) { return load(p); }
POPRT_INLINE f32x16 load_weights(const uint16_t* p) { return load_f16(p); }

POPRT_INLINE f32x16 load_last(const float* p, int64_t n) { return load_first(p, n); }
POPRT_INLINE f32x16 load_last(const uint16_t* p, int64_t n) {
  uint16_t all[16] = {};
  for (int64_t i = 0; i < n; i++) all[i] = p[i];
  return load_f16(all);
}

// The products of kRows rows and kColumns columns. Two vectors of each column are in flight if
// there is one row, because each addition waits for the one before.
template <class T, int kRows, int kColumns>
POPRT_INLINE void tile(const float* const* x, const T* w, int64_t depth, float* const* y,
                       int64_t column) {
  constexpr int kParts = kRows == 1 ? 2 : 1;
  f32x16 sums[kParts][kRows][kColumns] = {};
  int64_t i = 0;
  for (; i + 16 * kParts <= depth; i += 16 * kParts)
    for (int p = 0; p < kParts; p++) {
      f32x16 row[kRows];
      for (int r = 0; r < kRows; r++) row[r] = load(x[r] + i + 16 * p);
      for (int c = 0; c < kColumns; c++) {
        const f32x16 v = load_weights(w + c * depth + i + 16 * p);
        for (int r = 0; r < kRows; r++) sums[p][r][c] = fma(row[r], v, sums[p][r][c]);
      }
    }
  for (; i < depth; i += 16) {
    const int64_t n = depth - i < 16 ? depth - i : 16;
    for (int c = 0; c < kColumns; c++) {
      const f32x16 v = load_last(w + c * depth + i, n);
      for (int r = 0; r < kRows; r++)
        sums[0][r][c] = fma(load_first(x[r] + i, n), v, sums[0][r][c]);
    }
  }
  for (int r = 0; r < kRows; r++)
    for (int c = 0; c < kColumns; c++) {
      f32x16 total = sums[0][r][c];
      if (kParts == 2) total += sums[kParts - 1][r][c];
      y[r][column + c] = sum(total);
    }
}

template <class T, int kRows>
POPRT_INLINE void columns_of(const float* const* x, const T* w, int64_t columns, int64_t depth,
                             float* const* y) {
  constexpr int kColumns = kRows == 1 ? 4 : 2;
  int64_t j = 0;
  for (; j + kColumns <= columns; j += kColumns)
    tile<T, kRows, kColumns>(x, w + j * depth, depth, y, j);
  for (; j < columns; j++) tile<T, kRows, 1>(x, w + j * depth, depth, y, j);
}

template <class T>
void product(const float* const* x, int64_t rows, const void* weights, int64_t columns,
             int64_t depth, float* const* y) noexcept {
  const T* w = static_cast<const T*>(weights);
  if (rows == kExpertRows) return columns_of<T, kExpertRows>(x, w, columns, depth, y);
  for (int64_t r = 0; r < rows; r++) columns_of<T, 1>(x + r, w, columns, depth, y + r);
}

}  // namespace

extern const ExpertRowsTable POPRT_ISA_NAME(expert_rows);
const ExpertRowsTable POPRT_ISA_NAME(expert_rows) = {{product<float>, product<uint16_t>}};

}  // namespace poprt::kernels::isa

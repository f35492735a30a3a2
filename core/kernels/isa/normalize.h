// Row kernels of softmax and the normalisations; see core/kernels/softmax.cpp and layer_norm.cpp.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

// Rows of at most this many elements are processed many at a time.
inline constexpr int64_t kShortRow = 128;

struct NormalizeTable {
  // Softmax (or its logarithm) of n contiguous floats; y may be x.
  void (*softmax_row)(float* y, const float* x, int64_t n, bool log) noexcept;
  // The same for `rows` adjacent rows.
  void (*softmax_rows)(float* y, const float* x, int64_t rows, int64_t n, bool log) noexcept;
  // The same along `columns` <= 16 adjacent columns of n elements each, `stride` floats apart.
  void (*softmax_columns)(float* y, const float* x, int64_t n, int64_t stride, int64_t columns,
                          bool log) noexcept;
  // y = (x - mean) * inverse * scale[i / run] + bias[i / run] with inverse = 1 / sqrt(var +
  // epsilon). With `rms` the mean is not subtracted, and inverse = 1 / sqrt(mean(x^2) + epsilon).
  // scale and bias may be null. Mean and inverse are stored through the pointers unless they are
  // null.
  void (*normalize_row)(float* y, const float* x, int64_t n, const float* scale, const float* bias,
                        int64_t run, float epsilon, bool rms, float* mean, float* inverse) noexcept;
  // The same with run = 1 for `rows` adjacent rows.
  void (*normalize_rows)(float* y, const float* x, int64_t rows, int64_t n, const float* scale,
                         const float* bias, float epsilon, bool rms, float* mean,
                         float* inverse) noexcept;
  // y = x * scale + shift; y may be x.
  void (*scale_shift)(float* y, const float* x, int64_t n, float scale, float shift) noexcept;
};

POPRT_DECLARE_ISA(NormalizeTable, normalize)

}  // namespace poprt::kernels::isa

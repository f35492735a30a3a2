// Conversion of short runs of any number type to and from float, for kernels that compute in float.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace poprt::kernels {

// Whether quantisation supports the type: f32 f16 bf16 f64, integers down to two bits, f8 and f4.
bool is_convertible(DType dtype);

// out[i] = data[first + i].
void to_floats(DType dtype, const void* data, int64_t first, int64_t count, float* out) noexcept;

// data[first + i] = in[i], for floats and for integers of up to 32 bits except u32. Integers are
// rounded to nearest, ties to even, and saturated; NaN becomes 0. 8-bit floats saturate if
// `saturate`. For types smaller than a byte, the run must not start or end within a byte that
// another thread writes.
void from_floats(DType dtype, void* data, int64_t first, int64_t count, const float* in,
                 bool saturate) noexcept;

}  // namespace poprt::kernels

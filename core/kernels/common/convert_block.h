// Short runs of any number type to and from float, for kernels that compute in float.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace poprt::kernels {

// Every type that quantisation meets: f32 f16 bf16 f64, the integers down to two bits, f8 and f4.
bool is_convertible(DType dtype);

// out[i] = data[first + i].
void to_floats(DType dtype, const void* data, int64_t first, int64_t count, float* out) noexcept;

// data[first + i] = in[i]. Integers: to nearest, ties to even, saturated; NaN gives 0. Quarters
// saturate when asked. Sub-byte types: `first` and the end of the run must not cut a byte that
// another thread writes.
void from_floats(DType dtype, void* data, int64_t first, int64_t count, const float* in,
                 bool saturate) noexcept;

}  // namespace poprt::kernels

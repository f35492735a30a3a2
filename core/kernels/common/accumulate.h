// to[i] = to[i] OP from[i]: the operation of the scatter kernels on one update.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace poprt::kernels {

// The numbers are part of the file format: append only.
enum class ScatterReduction : int64_t { none = 0, add = 1, mul = 2, min = 3, max = 4 };

using Accumulate = void (*)(void* to, const void* from, int64_t count) noexcept;

// Null if there is no such operation: for strings and types smaller than a byte, and, except for
// `none`, for all types other than f16, bf16, f32, f64 and integers.
Accumulate find_accumulate(DType dtype, ScatterReduction reduction);

}  // namespace poprt::kernels

// One-element tensors from numbers.
#pragma once

#include "base/tensor.h"

namespace poprt::ops {

// `value` as `dtype` (bool, integers of whole bytes, f16, bf16, f32, f64, all f8). Floats are
// rounded. Integers are truncated and clamped to the range of the type; NaN becomes 0. Throws
// unimplemented for another dtype.
Tensor scalar_tensor(DType dtype, double value);

}  // namespace poprt::ops

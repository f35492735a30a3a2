// Results that are known at compile time.
#pragma once

#include <span>

#include "ops/op.h"

namespace poprt::ops {

// Writes `values`, converted by scalar_tensor() to the type of output i (any number type of whole
// bytes).
void emit_constant(LowerContext& ctx, size_t i, std::span<const double> values);

}  // namespace poprt::ops

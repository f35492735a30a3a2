// Results that are known when the program is made.
#pragma once

#include <span>

#include "ops/op.h"

namespace poprt::ops {

// Output i holds `values`, rounded to its type (any number type of whole bytes).
void emit_constant(LowerContext& ctx, size_t i, std::span<const double> values);

}  // namespace poprt::ops

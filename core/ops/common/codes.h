// Elements smaller than a byte cannot be moved one by one: they move as a byte each.
#pragma once

#include "ops/op.h"

namespace poprt::ops {

// A copy of `from` with a byte for each element's code.
program::BufferId unpack_codes(LowerContext& ctx, program::BufferId from, DType dtype,
                               const Shape& shape);
// And back, every element of `to`.
void pack_codes(LowerContext& ctx, program::BufferId from, program::BufferId to, DType dtype,
                const Shape& shape);

}  // namespace poprt::ops

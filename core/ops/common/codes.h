// Elements smaller than a byte cannot be moved one by one, so each is moved as a byte with its code
// (its bits as an unsigned number).
#pragma once

#include "ops/op.h"

namespace poprt::ops {

// Converts `from` to one byte for the code of each element.
program::BufferId unpack_codes(LowerContext& ctx, program::BufferId from, DType dtype,
                               const Shape& shape);
// The inverse: writes every element of `to`.
void pack_codes(LowerContext& ctx, program::BufferId from, program::BufferId to, DType dtype,
                const Shape& shape);

}  // namespace poprt::ops

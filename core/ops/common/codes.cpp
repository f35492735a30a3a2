#include "ops/common/codes.h"

#include "kernels/calls/cast.h"

namespace poprt::ops {
namespace {

// The unsigned type with as many bits as the element type, which has 2 or 4.
DType code_type(DType dtype) { return dtype_bits(dtype) == 2 ? DType::u2 : DType::u4; }

}  // namespace

program::BufferId unpack_codes(LowerContext& ctx, program::BufferId from, DType dtype,
                               const Shape& shape) {
  if (from == LowerContext::kNone) return from;
  const auto bytes = ctx.temporary(DType::u8, shape);
  ctx.emit(calls::Cast{}, {ctx.view(from, 0, code_type(dtype), shape), bytes});
  return bytes;
}

void pack_codes(LowerContext& ctx, program::BufferId from, program::BufferId to, DType dtype,
                const Shape& shape) {
  ctx.emit(calls::Cast{}, {from, ctx.view(to, 0, code_type(dtype), shape)});
}

}  // namespace poprt::ops

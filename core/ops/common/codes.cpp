#include "ops/common/codes.h"

namespace poprt::ops {
namespace {

// Whatever the elements mean, their codes are unsigned.
DType code_type(DType dtype) { return dtype_bits(dtype) == 2 ? DType::u2 : DType::u4; }

}  // namespace

program::BufferId unpack_codes(LowerContext& ctx, program::BufferId from, DType dtype,
                               const Shape& shape) {
  if (from == LowerContext::kNone) return from;
  const auto bytes = ctx.temporary(DType::u8, shape);
  ctx.emit("cast", {ctx.view(from, 0, code_type(dtype), shape), bytes}, {1});
  return bytes;
}

void pack_codes(LowerContext& ctx, program::BufferId from, program::BufferId to, DType dtype,
                const Shape& shape) {
  ctx.emit("cast", {from, ctx.view(to, 0, code_type(dtype), shape)}, {1});
}

}  // namespace poprt::ops

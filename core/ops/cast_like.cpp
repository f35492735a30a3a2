#include "ops/common/elementwise.h"

namespace poprt::ops {
namespace {

void infer(InferContext& ctx) {
  ir::ValueType t = ctx.in(0);
  const DType to = ctx.in(1).dtype;
  if (t.dtype == DType::string || to == DType::string)
    ctx.fail_unsupported("casting from or to string");
  t.dtype = to;
  ctx.out(0, t);
}

void lower(LowerContext& ctx) {
  if (is_fusable_elementwise(ctx.node)) return lower_elementwise(ctx);
  ctx.emit("cast", {ctx.in(0), ctx.out(0)}, {ctx.node.int_attr("saturate", 1)});
}

}  // namespace

extern const OpDef cast_like_op;
const OpDef cast_like_op = {.name = "CastLike", .since = 15, .infer = infer, .lower = lower};

}  // namespace poprt::ops

#include "kernels/calls/trilu.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/movement.h"

namespace poprt::ops::trilu_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  if (in.has_shape && in.shape.size() < 2)
    ctx.fail_input("expected rank 2 or more, found {}", shape_string(in.shape));
  if (ctx.has(1) &&
      (ctx.in(1).dtype != DType::s64 ||
       (ctx.in(1).has_shape && is_static(ctx.in(1).shape) && element_count(ctx.in(1).shape) != 1)))
    ctx.fail_input("k should be one s64");
  ctx.out(0, in);
}

void lower(LowerContext& ctx) {
  const Shape& in = ctx.in_shape(0);
  element_bytes(ctx, ctx.in_dtype(0));
  const size_t rank = in.size();
  ctx.emit(calls::Trilu{.matrices = partial_product(in, 0, rank - 2),
                        .rows = in[rank - 2],
                        .columns = in[rank - 1],
                        .upper = ctx.node.int_attr("upper", 1) != 0},
           {ctx.in(0), ctx.has(1) ? ctx.in(1) : LowerContext::kNone, ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  axes::same(ctx, 0, 0);
  const size_t rank = ctx.in(0).size();
  for (size_t d = rank - std::min<size_t>(rank, 2); d < rank; d++) ctx.number(0, d);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Trilu",
                   .since = 14,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::elementwise,
                   .facts = {.trial = {"T[4,4]"}},
                   .bound = bound_in_place};

}  // namespace poprt::ops::trilu_op

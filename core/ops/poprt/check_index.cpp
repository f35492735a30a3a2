// poprt.CheckIndex (x, size, count?) {what, invalid, axis, component}: converts x, s32 or s64, to
// s64. The numbers must fit `size`, one s64 number. A run in which one does not fit fails
// (kernels/calls/check_index.h). With `count`, only the first `count` places along `axis` of x are
// real. With `component`, the last axis of x is a tuple of which only that number is checked.
#include "kernels/calls/check_index.h"

#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/movement.h"

namespace poprt::ops::poprt_check_index_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  check_index_dtype(ctx, 0);
  const int64_t what = ctx.node.int_attr("what", 0);
  if (what < 0 || what > static_cast<int64_t>(calls::Fitting::seqlens_k))
    ctx.fail_input("what is {}", what);
  if (!in.has_shape) return ctx.out_dtype(0, DType::s64);
  const auto rank = static_cast<int64_t>(in.shape.size());
  const int64_t component = ctx.node.int_attr("component", -1);
  if (component >= 0 && (rank == 0 || (in.shape.back() >= 0 && component >= in.shape.back())))
    ctx.fail_input("component is {}, numbers are {}", component, shape_string(in.shape));
  if (ctx.has(2)) axis_of(ctx, ctx.node.int_attr("axis", 0), rank);
  ctx.out(0, DType::s64, in.shape);
}

void lower(LowerContext& ctx) {
  const Shape& shape = ctx.in_shape(0);
  if (element_count(shape) == 0) return;
  const int64_t component = ctx.node.int_attr("component", -1);
  calls::CheckIndex call{.what = static_cast<calls::Fitting>(ctx.node.int_attr("what", 0)),
                         .invalid = ctx.node.int_attr("invalid", 0),
                         .checked = ctx.checks_indices};
  if (ctx.has(2)) {
    const auto axis = static_cast<size_t>(
        normalize_axis(ctx.node.int_attr("axis", 0), static_cast<int64_t>(shape.size())));
    call.places = shape[axis];
    call.inner = partial_product(shape, axis + 1, shape.size());
  }
  if (component >= 0) {
    call.depth = shape.back();
    call.component = component;
  }
  ctx.emit(call, {ctx.in(0), ctx.in(1), ctx.has(2) ? ctx.in(2) : LowerContext::kNone, ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  const auto rank = static_cast<int64_t>(ctx.in(0).size());
  axes::same(ctx, 0, 0);
  if (ctx.has(2))
    ctx.number(0, static_cast<size_t>(normalize_axis(ctx.node.int_attr("axis", 0), rank)));
  if (ctx.node.int_attr("component", -1) >= 0) ctx.number(0, ctx.in(0).size() - 1);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "CheckIndex",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::check_index,
                   .facts = {.trial = {"T[4]; s64[] = 4", "invalid = 4"}}};

}  // namespace poprt::ops::poprt_check_index_op

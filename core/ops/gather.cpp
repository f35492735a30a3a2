// An index outside [-n, n) is a failure of the run, or selects zeros (kernels/calls/gather.h).
#include "kernels/calls/gather.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/movement.h"

namespace poprt::ops::gather_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &in = ctx.in(0), &indices = ctx.in(1);
  check_index_dtype(ctx, 1);
  if (!in.has_shape || !indices.has_shape) return ctx.out_dtype(0, in.dtype);
  const auto axis = static_cast<size_t>(
      axis_of(ctx, ctx.node.int_attr("axis", 0), static_cast<int64_t>(in.shape.size())));
  const int64_t size = in.shape[axis];
  check_indices(ctx, 1, size, axis);
  Shape out(in.shape.begin(), in.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  out.insert(out.end(), indices.shape.begin(), indices.shape.end());
  out.insert(out.end(), in.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, in.shape.end());
  ctx.out(0, in.dtype, std::move(out));
}

void lower(LowerContext& ctx) {
  const Shape& in = ctx.in_shape(0);
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", 0), static_cast<int64_t>(in.size())));
  element_bytes(ctx, ctx.in_dtype(0));
  const int64_t outer = partial_product(in, 0, axis),
                inner = partial_product(in, axis + 1, in.size());
  // A gather with one constant index is a strided copy.
  if (const auto at = ctx.ints(1); at && at->size() == 1 && in[axis] > 0) {
    const int64_t i = (*at)[0] < 0 ? (*at)[0] + in[axis] : (*at)[0];
    return emit_strided_copy(ctx, ctx.in(0), ctx.out(0), ctx.in_dtype(0),
                             {{outer, inner}, {in[axis] * inner, 1}, {inner, 1}, i * inner, 0});
  }
  ctx.emit(
      calls::Gather{.outer = outer, .axis = in[axis], .inner = inner, .checked = ctx.checks(1)},
      {ctx.in(0), ctx.in(1), ctx.out(0)});
}

BoundResult bound(BoundContext& ctx) {
  Items& in = ctx.in;
  const Item x = in[0], at = in[1];
  const size_t axis = ctx.axis_attr(0);
  if (at.size && x.size && x.axis != axis) ctx.refuse_size(x);
  const int64_t room = x.value->shape()[axis];
  if (x.sized_along(axis) || (at.size && room == 0))
    in[1].value = ctx.checked_index(at, x.size ? x.size : ctx.build.integer(0), room);
  else if (at.size)
    in[1].value = ctx.zero_filled(at);
  if (at.size) ctx.ensure_place(0, axis);
  if (at.size) return {at.size, axis + at.axis};
  if (x.axis == axis) return {};
  return {x.size, x.axis < axis ? x.axis : x.axis + at.value->shape().size() - 1};
}

// The axes of the indices replace the gathered axis.
void map_axes(AxesContext& ctx) {
  const Shape &in = ctx.in(0), &indices = ctx.in(1);
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", 0), static_cast<int64_t>(in.size())));
  axes::range(ctx, 0, 0, axis, 0, 0);
  axes::range(ctx, 0, axis + 1, in.size(), 0, axis + indices.size());
  axes::range(ctx, 1, 0, indices.size(), 0, axis);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Gather",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::gather,
                   .facts = {.moves = true,
                             .narrows = true,
                             .weight_inputs = 0b1,
                             .source = ElementSource::picked,
                             .text_form = TextForm::passes_on,
                             .text_inputs = 0b1,
                             .monotone = Monotone::first,
                             .trial = {"T[4,4]; s64[1,2] = [0, 1]"}},
                   .bound = bound};

}  // namespace poprt::ops::gather_op

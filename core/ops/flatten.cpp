#include "kernels/calls/copy.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"

namespace poprt::ops::flatten_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  if (!in.has_shape) return ctx.out(0, in.dtype, {kUnknownDim, kUnknownDim});
  const auto rank = static_cast<int64_t>(in.shape.size());
  int64_t axis = ctx.node.int_attr("axis", 1);
  if (axis < -rank || axis > rank) ctx.fail_input("axis {} is outside [{}, {}]", axis, -rank, rank);
  if (axis < 0) axis += rank;
  const auto at = static_cast<size_t>(axis);
  ctx.out(0, in.dtype,
          {partial_product(in.shape, 0, at), partial_product(in.shape, at, in.shape.size())});
}

void lower(LowerContext& ctx) { ctx.emit(calls::Copy{}, {ctx.in(0), ctx.out(0)}); }

BoundResult bound(BoundContext& ctx) {
  const ir::Node& n = ctx.node;
  Items& in = ctx.in;
  const Item& x = in[0];
  const Shape& shape = x.value->shape();
  const int64_t given = n.int_attr("axis", 1);
  const auto axis =
      static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(shape.size()) : given);
  const int64_t rows = partial_product(shape, 0, axis);
  const int64_t columns = rows == 0 ? 0 : element_count(shape) / rows;
  const bool row = x.axis < axis;
  return bound_reshape(ctx, x,
                       {{rows, row ? -1 : rows, nullptr}, {columns, row ? columns : -1, nullptr}});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Flatten",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::in_order,
                   .sharing = {.view = true},
                   .facts = {.moves = true,
                             .narrows = true,
                             .source = ElementSource::in_order,
                             .qdq = QdqForm::moves,
                             .monotone = Monotone::first},
                   .bound = bound};

}  // namespace poprt::ops::flatten_op

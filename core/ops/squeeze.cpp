#include <algorithm>

#include "kernels/calls/copy.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"

namespace poprt::ops::squeeze_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  bool known = true;
  const auto axes = axes_of(ctx, 1, "axes", known);
  if (!known || !in.has_shape) return ctx.out_dtype(0, in.dtype);
  std::vector<bool> drop(in.shape.size());
  if (axes) {
    for (const int64_t a : *axes) {
      const auto i = static_cast<size_t>(axis_of(ctx, a, static_cast<int64_t>(in.shape.size())));
      if (in.shape[i] > 1 || in.shape[i] == 0)
        ctx.fail_input("axis {} of {} is not 1", a, shape_string(in.shape));
      drop[i] = true;
    }
  } else {
    if (!is_static(in.shape)) return ctx.out_dtype(0, in.dtype);
    for (size_t i = 0; i < drop.size(); i++) drop[i] = in.shape[i] == 1;
  }
  ir::ValueType out = ir::ValueType::of(in.dtype, {});
  for (size_t i = 0; i < drop.size(); i++) {
    if (drop[i]) continue;
    out.shape.push_back(in.shape[i]);
    if (!in.symbols.empty()) out.symbols.push_back(in.symbols[i]);
  }
  ctx.out(0, std::move(out));
}

void lower(LowerContext& ctx) { ctx.emit(calls::Copy{}, {ctx.in(0), ctx.out(0)}); }

BoundResult bound(BoundContext& ctx) {
  Items& in = ctx.in;
  ctx.refuse_sizes(1);
  const Item& x = in[0];
  const Shape& shape = x.value->shape();
  std::vector<int64_t> axes = ctx.axes_of(1, shape.size());
  if (axes.empty())
    for (size_t d = 0; d < shape.size(); d++)
      if (shape[d] == 1) axes.push_back(static_cast<int64_t>(d));
  size_t axis = x.axis;
  for (const int64_t a : axes) {
    if (a == static_cast<int64_t>(x.axis)) {  // the axis has one element, which must be real
      in[0].value = ctx.with_bound(x, 1);
      return {};
    }
    axis -= a < static_cast<int64_t>(x.axis);
  }
  return {x.size, axis};
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Squeeze",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::in_order,
                   .sharing = {.view = true},
                   .facts = {.moves = true,
                             .narrows = true,
                             .constant_inputs = 0b10,
                             .s64_inputs = ~0b1u,
                             .source = ElementSource::in_order,
                             .qdq = QdqForm::moves,
                             .monotone = Monotone::first,
                             .trial = {"T[4,1,4]; s64[1] = [1]"}},
                   .bound = bound};

}  // namespace poprt::ops::squeeze_op

#include "kernels/calls/copy.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"

namespace poprt::ops::unsqueeze_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  bool known = true;
  const auto axes = axes_of(ctx, 1, "axes", known);
  if (known && !axes) ctx.fail_input("axes are missing");
  if (!known || !in.has_shape) return ctx.out_dtype(0, in.dtype);
  const size_t rank = in.shape.size() + axes->size();
  std::vector<bool> added(rank);
  for (const int64_t a : *axes) {
    const auto i = static_cast<size_t>(axis_of(ctx, a, static_cast<int64_t>(rank)));
    if (added[i]) ctx.fail_input("axis {} is given twice", a);
    added[i] = true;
  }
  ir::ValueType out = ir::ValueType::of(in.dtype, {});
  for (size_t i = 0, from = 0; i < rank; i++) {
    const size_t source = from;
    out.shape.push_back(added[i] ? 1 : in.shape[from++]);
    if (!in.symbols.empty()) out.symbols.push_back(added[i] ? std::string() : in.symbols[source]);
  }
  ctx.out(0, std::move(out));
}

void lower(LowerContext& ctx) { ctx.emit(calls::Copy{}, {ctx.in(0), ctx.out(0)}); }

BoundResult bound(BoundContext& ctx) {
  const ir::Node& n = ctx.node;
  Items& in = ctx.in;
  ctx.refuse_sizes(1);
  const Item& x = in[0];
  const bool given = in.size() > 1 && in[1].kind == Item::Kind::tensor;
  std::vector<int64_t> axes = given ? ctx.constant_ints(1) : n.ints_attr("axes");
  const auto rank = static_cast<int64_t>(x.value->shape().size() + axes.size());
  for (int64_t& a : axes) a = normalize_axis(a, rank);
  std::sort(axes.begin(), axes.end());
  size_t axis = x.axis;
  for (const int64_t a : axes) axis += a <= static_cast<int64_t>(axis);
  return {x.size, axis};
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Unsqueeze",
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
                             .trial = {"T[4,4]; s64[1] = [1]"}},
                   .bound = bound};

}  // namespace poprt::ops::unsqueeze_op

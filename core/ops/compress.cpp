// The length of the result depends on the condition, so lowering requires a constant condition.
#include "kernels/calls/gather.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"

namespace poprt::ops::compress_op {
namespace {

std::vector<int64_t> kept(const ir::Node& node, const std::vector<int64_t>& condition,
                          int64_t size) {
  std::vector<int64_t> at;
  for (size_t i = 0; i < condition.size(); i++) {
    if (!condition[i]) continue;
    if (static_cast<int64_t>(i) >= size)
      fail(ErrorCode::invalid_argument, "{}: the condition keeps element {} of {}", node.describe(),
           i, size);
    at.push_back(static_cast<int64_t>(i));
  }
  return at;
}

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  const bool flat = !ctx.node.find_attr("axis");
  const auto condition = ctx.ints(1);
  if (ctx.in(1).has_shape && ctx.in(1).shape.size() != 1)
    ctx.fail_input("the condition should have rank 1, found {}", shape_string(ctx.in(1).shape));
  if (flat && !in.has_shape) return ctx.out(0, in.dtype, {kUnknownDim});
  if (!in.has_shape) return ctx.out_dtype(0, in.dtype);
  Shape out = in.shape;
  size_t axis = 0;
  if (flat)
    out = {partial_product(in.shape, 0, in.shape.size())};
  else
    axis = static_cast<size_t>(
        axis_of(ctx, ctx.node.int_attr("axis", 0), static_cast<int64_t>(out.size())));
  out[axis] = condition && out[axis] >= 0
                  ? static_cast<int64_t>(kept(ctx.node, *condition, out[axis]).size())
                  : kUnknownDim;
  ctx.out(0, in.dtype, std::move(out));
}

void lower(LowerContext& ctx) {
  const auto condition = ctx.ints(1);
  if (!condition) ctx.fail_unsupported("the condition must be constant");
  const Shape& in = ctx.in_shape(0);
  element_bytes(ctx, ctx.in_dtype(0));
  int64_t outer = 1, size = element_count(in), inner = 1;
  if (ctx.node.find_attr("axis")) {
    const auto axis = static_cast<size_t>(
        normalize_axis(ctx.node.int_attr("axis", 0), static_cast<int64_t>(in.size())));
    outer = partial_product(in, 0, axis);
    size = in[axis];
    inner = partial_product(in, axis + 1, in.size());
  }
  const auto at = kept(ctx.node, *condition, size);
  const auto indices = ctx.pack(
      Tensor::of<int64_t>({static_cast<int64_t>(at.size())}, std::span<const int64_t>(at)));
  ctx.emit(calls::Gather{.outer = outer, .axis = size, .inner = inner},
           {ctx.in(0), indices, ctx.out(0)});
}

// The condition selects places at run time. Padding of x is never selected.
BoundResult bound(BoundContext& ctx) {
  const Item x = ctx.in[0];
  Item& condition = ctx.in[1];
  const bool flat = !ctx.node.find_attr("axis");
  const size_t axis = flat ? 0 : ctx.axis_attr(0);
  if (x.size && (x.axis != axis || (flat && x.value->shape().size() != 1))) ctx.refuse_size(x);
  if (x.size && !condition.size) condition.sized(x.size, 0);
  if (condition.size) condition.value = ctx.zero_filled(condition);
  ir::Value* kept = condition.value;
  if (!kept->type.is_static() || kept->shape().size() != 1 || kept->is_constant()) return {};
  const Shape shape = flat ? Shape{element_count(x.value->shape())} : x.value->shape();
  const int64_t length = element_count(kept->shape());
  if (length > shape[axis])
    ctx.fail_at(ErrorCode::unimplemented,
                "{} conditions for {} elements: a longer condition must be constant", length,
                shape[axis]);
  ir::Value* size = ctx.build.find_or_make("Count", "poprt", {kept});
  ir::Value* at = ctx.build.make1("NonZero", {ctx.build.reshape(kept, {length})}, {}, "poprt");
  ir::Value* rows = ctx.build.make1(
      "Gather", {ctx.build.reshape(x.value, shape), ctx.build.reshape(at, {length})},
      {{"axis", static_cast<int64_t>(axis)}});
  Item item = Item::of(rows);
  item.sized(size, axis);
  return {.results = {item}};
}

void map_axes(AxesContext& ctx) {
  if (ctx.node.find_attr("axis")) axes::along_attribute<0>(ctx);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Compress",
                   .since = 9,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.moves = true,
                             .narrows = true,
                             .data_sized = true,
                             .constant_inputs = 0b10,
                             .trial = {"T[4,4]; bool[4]", "axis = 0"}},
                   .bound = bound};

}  // namespace poprt::ops::compress_op

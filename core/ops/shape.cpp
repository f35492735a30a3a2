#include <algorithm>

#include "kernels/calls/copy.h"
#include "ops/op.h"

namespace poprt::ops::shape_op {
namespace {

// [first, last) of the dimensions; attributes start and end exist from opset 15.
std::pair<size_t, size_t> part(const ir::Node& node, size_t size) {
  const auto rank = static_cast<int64_t>(size);
  const auto clamp = [rank](int64_t i) {
    return static_cast<size_t>(std::clamp<int64_t>(i < 0 ? std::max(i, -rank) + rank : i, 0, rank));
  };
  const size_t first = clamp(node.int_attr("start", 0)), last = clamp(node.int_attr("end", rank));
  return {first, std::max(first, last)};
}

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  if (!in.has_shape) return ctx.out(0, DType::s64, {kUnknownDim});
  const auto [first, last] = part(ctx.node, in.shape.size());
  ctx.out(0, DType::s64, {static_cast<int64_t>(last - first)});
}

Tensor from_shapes(const ir::Node& node) {
  const Shape& in = node.input(0)->shape();
  const auto [first, last] = part(node, in.size());
  const std::span<const int64_t> dims(in.data() + first, last - first);
  return Tensor::of<int64_t>({static_cast<int64_t>(dims.size())}, dims);
}

void lower(LowerContext& ctx) {
  ctx.emit(calls::Copy{}, {ctx.pack(from_shapes(ctx.node)), ctx.out(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Shape",
                   .infer = infer,
                   .lower = lower,
                   .facts = {.moves = true, .from_shapes = from_shapes}};

}  // namespace poprt::ops::shape_op

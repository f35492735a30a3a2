#include <algorithm>
#include <array>

#include "kernels/calls/copy.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/op.h"

namespace poprt::ops::shape_op {
namespace {

// The range [first, last) of the dimensions. Attributes start and end exist from opset 15 on.
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

// Readers that use the result as a shape receive the bounds of the dimensions. Readers that compute
// with its elements receive the actual sizes.
BoundResult bound(BoundContext& ctx) {
  const Item& x = ctx.in[0];
  const Shape& most = ctx.shape();
  const auto [first, last] = part(ctx.node, most.size());
  Shape least(most.begin() + static_cast<std::ptrdiff_t>(first),
              most.begin() + static_cast<std::ptrdiff_t>(last));
  Item out = Item::of(ctx.build.integers(least));
  if (x.size && x.axis >= first && x.axis < last) {
    std::vector<ir::Value*> dims;
    for (size_t d = first; d < last; d++)
      dims.push_back(d == x.axis ? ctx.build.reshape(x.size, {1})
                                 : ctx.build.integers(std::array{most[d]}));
    out.actual =
        dims.size() == 1 ? dims[0] : ctx.build.make("Concat", "", dims, {{"axis", int64_t{0}}})[0];
    least[x.axis - first] = 0;
    out.least = ctx.build.integers(least);
  }
  return {.results = {out}};
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Shape",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::by_place,
                   .cost = cost::none,
                   .facts = {.moves = true, .from_shapes = from_shapes},
                   .bound = bound};

}  // namespace poprt::ops::shape_op

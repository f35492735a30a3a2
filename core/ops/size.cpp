#include "kernels/calls/copy.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/op.h"

namespace poprt::ops::size_op {
namespace {

void infer(InferContext& ctx) { ctx.out(0, DType::s64, {}); }

Tensor from_shapes(const ir::Node& node) {
  return Tensor::scalar<int64_t>(element_count(node.input(0)->shape()));
}

void lower(LowerContext& ctx) {
  ctx.emit(calls::Copy{}, {ctx.pack(from_shapes(ctx.node)), ctx.out(0)});
}

// Readers that use the result as a shape receive the bound of the number of elements. Other readers
// receive the actual number.
BoundResult bound(BoundContext& ctx) {
  const Item& x = ctx.in[0];
  const int64_t most = element_count(ctx.shape());
  Item out = Item::of(ctx.build.integer(most));
  if (x.size) {
    const int64_t row = most == 0 ? 0 : most / ctx.shape()[x.axis];
    out.actual = ctx.build.newest("Mul", {x.size, ctx.build.integer(row)});
    out.least = ctx.build.integer(0);
  }
  return {.results = {out}};
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Size",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::shapes_only,
                   .cost = cost::none,
                   .facts = {.moves = true, .from_shapes = from_shapes},
                   .bound = bound};

}  // namespace poprt::ops::size_op

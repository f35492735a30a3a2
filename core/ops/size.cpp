#include "kernels/calls/copy.h"
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

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Size",
                   .infer = infer,
                   .lower = lower,
                   .facts = {.moves = true, .from_shapes = from_shapes}};

}  // namespace poprt::ops::size_op

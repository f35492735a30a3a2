#include "kernels/calls/fill.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/op.h"

namespace poprt::ops::constant_of_shape_op {
namespace {

Tensor value_of(const ir::Node& node) {
  if (const auto* a = node.find_attr("value")) {
    const auto* t = std::get_if<Tensor>(a);
    if (!t || t->count() != 1)
      fail(ErrorCode::invalid_argument, "{}: value should be a tensor of one element",
           node.describe());
    return *t;
  }
  return Tensor::scalar<float>(0);
}

void infer(InferContext& ctx) {
  const DType dtype = value_of(ctx.node).dtype();
  const ir::ValueType& shape = ctx.in(0);
  if (const auto dims = ctx.ints(0)) {
    for (const int64_t d : *dims)
      if (d < 0) ctx.fail_input("the shape {} has a negative dimension", shape_string(*dims));
    return ctx.out(0, dtype, *dims);
  }
  if (shape.has_shape && shape.shape.size() == 1 && shape.shape[0] >= 0)
    return ctx.out(0, dtype, Shape(static_cast<size_t>(shape.shape[0]), kUnknownDim));
  ctx.out_dtype(0, dtype);
}

void lower(LowerContext& ctx) {
  const Tensor value = value_of(ctx.node);
  bool zero = true;
  for (uint64_t i = 0; i < value.bytes(); i++)
    zero &= static_cast<const uint8_t*>(value.data())[i] == 0;
  ctx.emit(calls::Fill{}, {zero ? LowerContext::kNone : ctx.pack(value), ctx.out(0)});
}

BoundResult bound(BoundContext& ctx) {
  BoundResult out;
  const std::vector<Extent> to = ctx.extents(0);
  for (size_t k = 0; k < to.size(); k++) {
    if (!to[k].actual) continue;
    if (out.size) ctx.refuse_shape(0);
    out = {to[k].least < 0 ? ctx.build.newest("Max", {to[k].actual, ctx.build.integer(0)})
                           : to[k].actual,
           k};
  }
  return out;
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "ConstantOfShape",
                   .since = 9,
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::shapes_only,
                   .cost = cost::none,
                   .facts = {.moves = true,
                             .shape_inputs = 0b1,
                             .extent_inputs = 0b1,
                             .bounds_shape = true,
                             .constant_inputs = 0b1,
                             .trial = {"s64[2] = [2, 3]", "value = T[1] fill @"}},
                   .bound = bound};

}  // namespace poprt::ops::constant_of_shape_op

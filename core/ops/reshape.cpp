#include "base/checked.h"
#include "kernels/calls/copy.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"

namespace poprt::ops::reshape_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  std::optional<std::vector<int64_t>> wanted;
  if (ctx.opset() >= 5 || ctx.has(1)) {
    const ir::ValueType& shape = ctx.in(1);
    if (shape.has_shape && shape.shape.size() != 1)
      ctx.fail_input("the new shape should be a list, found {}", shape_string(shape.shape));
    wanted = ctx.ints(1);
    if (!wanted) {
      if (shape.has_shape && shape.shape.size() == 1 && shape.shape[0] >= 0)
        return ctx.out(0, in.dtype, Shape(static_cast<size_t>(shape.shape[0]), kUnknownDim));
      return ctx.out_dtype(0, in.dtype);
    }
  } else {
    wanted = ctx.node.ints_attr("shape");
  }
  const bool allow_zero = ctx.node.int_attr("allowzero", 0) != 0;
  Shape out(wanted->size());
  Shape rest = in.shape;  // input dimensions that are not copied by a 0 of the wanted shape
  int64_t given = 1;
  std::optional<size_t> inferred;
  for (size_t i = 0; i < out.size(); i++) {
    const int64_t d = (*wanted)[i];
    if (d < -1) ctx.fail_input("dimension {} of the new shape is {}", i, d);
    if (d == -1) {
      if (inferred) ctx.fail_input("the new shape {} has more than one -1", shape_string(*wanted));
      inferred = i;
      out[i] = kUnknownDim;
    } else if (d == 0 && !allow_zero) {
      if (!in.has_shape) {
        out[i] = kUnknownDim;
        continue;
      }
      if (i >= in.shape.size())
        ctx.fail_input("dimension {} of the new shape is 0 but the input {} has none to keep", i,
                       shape_string(in.shape));
      out[i] = in.shape[i];
      rest[i] = 1;
    } else {
      out[i] = d;
      given = checked_mul(given, d, "shape");
    }
  }
  if (inferred && allow_zero && given == 0)
    ctx.fail_input("the new shape {} has both -1 and 0 with allowzero", shape_string(*wanted));
  if (in.has_shape) {
    const int64_t count = partial_product(rest, 0, rest.size());
    if (inferred && count >= 0) {
      if (given == 0 ? count != 0 : count % given != 0)
        ctx.fail_input("an input {} cannot take the shape {}", shape_string(in.shape),
                       shape_string(*wanted));
      out[*inferred] = given == 0 ? 0 : count / given;
    }
    if (is_static(out) && is_static(in.shape) && element_count(out) != element_count(in.shape))
      ctx.fail_input("an input {} of {} elements cannot take the shape {}", shape_string(in.shape),
                     element_count(in.shape), shape_string(*wanted));
  }
  ctx.out(0, in.dtype, std::move(out));
}

void lower(LowerContext& ctx) { ctx.emit(calls::Copy{}, {ctx.in(0), ctx.out(0)}); }

BoundResult bound(BoundContext& ctx) {
  const ir::Node& n = ctx.node;
  Items& in = ctx.in;
  const Item& x = in[0];
  const Shape& from = x.value->shape();
  std::vector<Extent> to;
  if (n.opset() < 5 && in.size() < 2)
    for (const int64_t d : n.ints_attr("shape")) to.push_back({d, d, nullptr});
  else
    to = ctx.extents(1);
  for (size_t k = 0; k < to.size(); k++) {
    if (to[k].actual || to[k].most != 0 || n.int_attr("allowzero", 0) != 0 || k >= from.size())
      continue;
    to[k] = {from[k], from[k], x.size && x.axis == k ? x.size : nullptr};
  }
  if (x.size) return bound_reshape(ctx, x, std::move(to));
  // All of x is real, so all of the result is: its unknown dimension follows from the others.
  Shape shape;
  size_t open = to.size(), unknown = 0;
  for (size_t k = 0; k < to.size(); k++) {
    if (to[k].actual || to[k].most == -1) open = k, unknown++;
    shape.push_back(to[k].most);
  }
  if (unknown > 1) ctx.refuse_shape(1);
  if (open < to.size()) {
    const int64_t known =
        partial_product(shape, 0, open) * partial_product(shape, open + 1, shape.size());
    shape[open] = known == 0 ? 0 : element_count(from) / known;
  }
  return {.whole = ctx.build.reshape(x.value, shape)};
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Reshape",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::in_order,
                   .sharing = {.view = true},
                   .facts = {.moves = true,
                             .narrows = true,
                             .shape_inputs = 0b10,
                             .extent_inputs = 0b10,
                             .bounds_shape = true,
                             .constant_inputs = 0b10,
                             .s64_inputs = ~0b1u,
                             .source = ElementSource::in_order,
                             .qdq = QdqForm::moves,
                             .monotone = Monotone::first,
                             .trial = {"T[4,4]; s64[2] = [2, 8]"}},
                   .bound = bound};

}  // namespace poprt::ops::reshape_op

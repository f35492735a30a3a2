#include "ops/common/scatter.h"

#include <algorithm>
#include <array>

#include "base/onnx_dtype.h"
#include "kernels/calls/copy.h"
#include "kernels/calls/scatter_elements.h"
#include "kernels/common/accumulate.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"
#include "ops/common/scalar.h"
#include "ops/common/value_since.h"

namespace poprt::ops {

kernels::ScatterReduction reduction_of(const ir::Node& node) {
  constexpr std::array<std::string_view, 5> kNames = {"none", "add", "mul", "min", "max"};
  const std::string name = node.string_attr("reduction", "none");
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end())
    fail(ErrorCode::invalid_argument, "{}: reduction '{}' is unknown", node.describe(), name);
  check_value_since(node, node.opset(), "reduction", name, {"min", "max"}, 18);
  return static_cast<kernels::ScatterReduction>(found - kNames.begin());
}

void check_reduction(const LowerContext& ctx) {
  if (!kernels::find_accumulate(ctx.in_dtype(0), reduction_of(ctx.node)))
    ctx.fail_unsupported("elements of type {} have no reduction '{}'", dtype_name(ctx.in_dtype(0)),
                         ctx.node.string_attr("reduction", "none"));
}

void check_scatter_inputs(const InferContext& ctx) {
  const DType in = ctx.in(0).dtype, updates = ctx.in(2).dtype;
  check_index_dtype(ctx, 1);
  reduction_of(ctx.node);
  if (updates != in)
    ctx.fail_input("updates are {}, data is {}", dtype_name(updates), dtype_name(in));
}

void infer_scatter_elements(InferContext& ctx) {
  const ir::ValueType &in = ctx.in(0), &indices = ctx.in(1), &updates = ctx.in(2);
  check_scatter_inputs(ctx);
  if (in.has_shape && indices.has_shape) {
    const auto rank = static_cast<int64_t>(in.shape.size());
    const auto axis = static_cast<size_t>(axis_of(ctx, ctx.node.int_attr("axis", 0), rank));
    bool fits = indices.shape.size() == in.shape.size();
    for (size_t d = 0; fits && d < in.shape.size(); d++)
      fits = d == axis || in.shape[d] < 0 || indices.shape[d] <= in.shape[d];
    if (!fits)
      ctx.fail_input("indices {} do not fit data {}", shape_string(indices.shape),
                     shape_string(in.shape));
    if (updates.has_shape && is_static(updates.shape) && is_static(indices.shape) &&
        updates.shape != indices.shape)
      ctx.fail_input("updates are {}, indices {}", shape_string(updates.shape),
                     shape_string(indices.shape));
    check_indices(ctx, 1, in.shape[axis], axis);
  }
  ctx.out(0, in);
}

void lower_scatter_elements(LowerContext& ctx) {
  const Shape &in = ctx.in_shape(0), &indices = ctx.in_shape(1);
  check_reduction(ctx);
  ctx.emit(calls::Copy{}, {ctx.in(0), ctx.out(0)});
  if (element_count(indices) == 0) return;
  const auto rank = static_cast<int64_t>(in.size());
  ctx.emit(calls::ScatterElements{.reduction = reduction_of(ctx.node),
                                  .at = {.axis = normalize_axis(ctx.node.int_attr("axis", 0), rank),
                                         .data_dims = {in.begin(), in.end()},
                                         .index_dims = {indices.begin(), indices.end()}},
                                  .checked = ctx.checks(1)},
           {ctx.in(1), ctx.in(2), ctx.out(0)});
}

namespace {

// The indices with negative ones converted, if they address the sized axis of x. Padding becomes 0.
ir::Value* scatter_places(BoundContext& ctx, const Item& x, const Item& at, bool elements) {
  const Shape& shape = x.value->shape();
  if (x.size && elements && x.axis == ctx.axis_attr(0))
    return ctx.checked_index(at, x.size, shape[x.axis]);
  if (x.size && !elements && static_cast<int64_t>(x.axis) < at.value->shape().back())
    return ctx.checked_index(at, x.size, shape[x.axis], x.axis);
  return at.size ? ctx.zero_filled(at) : at.value;
}

// Checks the real indices of a scatter into a tensor without elements. They have no effect on the
// result, so the check would be removed as unused. To prevent this, the size of the result depends
// on them: the minimum of 0 and the largest index is added to it, which is 0.
BoundResult scattered_into_nothing(BoundContext& ctx, const Item& x, Item at, bool elements) {
  const Shape& shape = x.value->shape();
  BoundResult out{.size = x.size, .axis = x.axis, .whole = x.value};
  if (element_count(at.value->shape()) == 0) return out;
  const auto check = [&](size_t d, std::optional<size_t> component) {
    ir::Value* size = x.sized_along(d) ? x.size : ctx.build.integer(shape[d]);
    at.value = ctx.checked_index(at, size, 0, component);
  };
  if (elements)
    check(ctx.axis_attr(0), std::nullopt);
  else
    for (size_t d = 0; d < static_cast<size_t>(at.value->shape().back()); d++) check(d, d);
  ir::Value* greatest = ctx.build.newest("ReduceMax", {at.value}, {{"keepdims", int64_t{0}}});
  ir::Value* none = ctx.build.newest("Min", {greatest, ctx.build.integer(0)});
  if (!x.size)
    out.axis = static_cast<size_t>(std::find(shape.begin(), shape.end(), 0) - shape.begin());
  out.size = x.size ? ctx.build.newest("Add", {x.size, none}) : none;
  return out;
}

}  // namespace

BoundResult bound_scatter(BoundContext& ctx, bool elements) {
  const ir::Node& n = ctx.node;
  Items& in = ctx.in;
  const Item x = in[0];
  Item at = in[1], updates = in[2];
  const BoundResult out{x.size, x.axis};
  if (!elements && at.size && at.axis + 1 >= at.value->shape().size()) ctx.refuse_size(at);
  if (at.size && updates.size && at.axis != updates.axis) ctx.refuse_size(updates);
  const size_t places_rank = at.value->shape().size() - 1;
  if (!elements && updates.value->shape().size() > places_rank) {
    // The update of one place has the remaining dimensions of x, and their bounds.
    const auto depth = static_cast<size_t>(at.value->shape().back());
    const bool in_place = updates.size && updates.axis >= places_rank;
    const size_t inside = x.size && x.axis >= depth ? places_rank + x.axis - depth : 0;
    if (in_place && (!x.size || x.axis < depth || inside != updates.axis)) ctx.refuse_size(updates);
    if (x.size && x.axis >= depth) {
      Item part = updates;
      part.axis = inside;
      in[2].value = updates.value = ctx.with_bound(part, x.value->shape()[x.axis]);
      if (in_place) updates = Item::of(updates.value);
    }
  }
  if (!at.size && updates.size)
    at.sized(ctx.build.integer(at.value->shape()[updates.axis]), updates.axis);
  if (at.size && element_count(x.value->shape()) == 0)
    return scattered_into_nothing(ctx, x, at, elements);
  in[1].value = at.value = scatter_places(ctx, x, at, elements);
  if (!at.size) return out;
  const int64_t bound = std::min(at.value->shape()[at.axis], updates.value->shape()[at.axis]);
  updates.sized(at.size, at.axis);
  in[1].value = at.value = ctx.with_bound(at, bound);
  in[2].value = updates.value = ctx.with_bound(updates, bound);
  if (bound == 0) return out;
  in[1].value = ctx.from_front(at, at.size);
  const std::string how = n.string_attr("reduction", "none");
  const DType type = updates.value->dtype();
  if (how == "add") {
    in[2].value = ctx.zero_filled(updates);
  } else if (how == "mul") {
    in[2].value = ctx.filled(updates, scalar_tensor(type, 1));
  } else if (how == "max" || how == "min") {
    in[2].value = ctx.filled(updates, extreme(type, how == "min"));
  } else {
    in[2].value = ctx.from_front(updates, at.size);
    return {.size = out.size,
            .axis = out.axis,
            .after = [&build = ctx.build, x, size = at.size](ir::Value* y) {
              return build.newest("Where",
                                  {build.newest("Greater", {size, build.integer(0)}), y, x.value});
            }};
  }
  return out;
}

// An axis is carried only if indices and updates cover it completely.
void axes_of_scatter_elements(AxesContext& ctx) {
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", 0), static_cast<int64_t>(ctx.in(0).size())));
  axes::same(ctx, 0, 0);
  ctx.number(0, axis);
  for (const size_t i : {1, 2})
    for (size_t d = 0; d < ctx.in(i).size(); d++) {
      if (d == axis) continue;
      if (ctx.in(i)[d] == ctx.out()[d])
        ctx.carry(i, d, 0, d);
      else
        ctx.link({i, d, 0, d});
    }
}

}  // namespace poprt::ops

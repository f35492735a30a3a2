#include "ops/common/scatter.h"

#include <algorithm>
#include <array>

#include "kernels/calls/copy.h"
#include "kernels/calls/scatter_elements.h"
#include "kernels/common/accumulate.h"
#include "ops/common/movement.h"
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

void check_scatter_types(const InferContext& ctx) {
  const DType in = ctx.in(0).dtype, updates = ctx.in(2).dtype;
  check_index_dtype(ctx, 1);
  reduction_of(ctx.node);
  if (updates != in)
    ctx.fail_input("updates are {}, data is {}", dtype_name(updates), dtype_name(in));
}

void infer_scatter_elements(InferContext& ctx) {
  const ir::ValueType &in = ctx.in(0), &indices = ctx.in(1), &updates = ctx.in(2);
  check_scatter_types(ctx);
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
                                         .index_dims = {indices.begin(), indices.end()}}},
           {ctx.in(1), ctx.in(2), ctx.out(0)});
}

}  // namespace poprt::ops

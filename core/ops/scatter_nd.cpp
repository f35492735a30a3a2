#include "kernels/calls/scatter_nd.h"
#include "kernels/calls/copy.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/movement.h"
#include "ops/common/scatter.h"

namespace poprt::ops::scatter_nd_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &in = ctx.in(0), &indices = ctx.in(1), &updates = ctx.in(2);
  check_scatter_inputs(ctx);
  if (in.has_shape && indices.has_shape) {
    if (indices.shape.empty()) ctx.fail_input("indices should have rank 1 or more");
    const int64_t depth = indices.shape.back();
    if (depth > static_cast<int64_t>(in.shape.size()))
      ctx.fail_input("index tuples have {} entries, data has rank {}", depth, in.shape.size());
    check_index_tuples(ctx, 1, in.shape, 0);
    if (depth >= 0 && updates.has_shape) {
      Shape wanted(indices.shape.begin(), indices.shape.end() - 1);
      wanted.insert(wanted.end(), in.shape.begin() + depth, in.shape.end());
      if (is_static(wanted) && is_static(updates.shape) && wanted != updates.shape)
        ctx.fail_input("updates should be {}, found {}", shape_string(wanted),
                       shape_string(updates.shape));
    }
  }
  ctx.out(0, in);
}

void lower(LowerContext& ctx) {
  const Shape &in = ctx.in_shape(0), &indices = ctx.in_shape(1);
  check_reduction(ctx);
  ctx.emit(calls::Copy{}, {ctx.in(0), ctx.out(0)});
  // Indices of empty slices are checked, too.
  if (element_count(ctx.in_shape(2)) == 0 && element_count(indices) == 0) return;
  const int64_t depth = indices.back();
  const auto d = static_cast<size_t>(depth);
  ctx.emit(calls::ScatterNd{.reduction = reduction_of(ctx.node),
                            .at = {.batch = 1,
                                   .count = partial_product(indices, 0, indices.size() - 1),
                                   .slice = partial_product(in, d, in.size()),
                                   .dims = {in.begin(), in.begin() + depth}},
                            .checked = ctx.checks(1)},
           {ctx.in(1), ctx.in(2), ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  const Shape& indices = ctx.in(1);
  axes::same(ctx, 0, 0);
  const auto picked = static_cast<size_t>(indices.back());
  for (size_t d = 0; d < picked; d++) ctx.number(0, d);
  axes::range(ctx, 2, indices.size() - 1, ctx.in(2).size(), 0, picked);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "ScatterND",
                   .since = 11,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::scatter,
                   .facts = {.moves = true, .trial = {"T[4,4]; s64[1,1]; T[1,4]"}},
                   .bound = [](BoundContext& c) { return bound_scatter(c, false); }};

}  // namespace poprt::ops::scatter_nd_op

// An index tuple outside the data is a failure of the run, or selects zeros
// (kernels/calls/gather_nd.h).
#include "kernels/calls/gather_nd.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/movement.h"

namespace poprt::ops::gather_nd_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &in = ctx.in(0), &indices = ctx.in(1);
  check_index_dtype(ctx, 1);
  if (!in.has_shape || !indices.has_shape) return ctx.out_dtype(0, in.dtype);
  const auto rank = static_cast<int64_t>(in.shape.size());
  const auto index_rank = static_cast<int64_t>(indices.shape.size());
  const int64_t batch_dims = ctx.node.int_attr("batch_dims", 0);
  if (index_rank < 1 || rank < 1 || batch_dims < 0 || batch_dims >= std::min(rank, index_rank))
    ctx.fail_input("batch_dims {} does not fit data {} and indices {}", batch_dims,
                   shape_string(in.shape), shape_string(indices.shape));
  for (int64_t d = 0; d < batch_dims; d++) {
    const auto i = static_cast<size_t>(d);
    if (in.shape[i] >= 0 && indices.shape[i] >= 0 && in.shape[i] != indices.shape[i])
      ctx.fail_input("batch dimension {} is {} in data and {} in indices", d, in.shape[i],
                     indices.shape[i]);
  }
  const int64_t depth = indices.shape.back();
  if (depth < 0) return ctx.out_dtype(0, in.dtype);
  if (depth + batch_dims > rank)
    ctx.fail_input("index tuples have {} entries, data is {}", depth, shape_string(in.shape));
  check_index_tuples(ctx, 1, in.shape, static_cast<size_t>(batch_dims));
  Shape out(indices.shape.begin(), indices.shape.end() - 1);
  out.insert(out.end(), in.shape.begin() + batch_dims + depth, in.shape.end());
  ctx.out(0, in.dtype, std::move(out));
}

void lower(LowerContext& ctx) {
  const Shape &in = ctx.in_shape(0), &indices = ctx.in_shape(1);
  element_bytes(ctx, ctx.in_dtype(0));
  if (element_count(ctx.out_shape()) == 0) return;
  const auto batch = static_cast<size_t>(ctx.node.int_attr("batch_dims", 0));
  const int64_t depth = indices.back();
  const size_t indexed = batch + static_cast<size_t>(depth);
  ctx.emit(calls::GatherNd{.at = {.batch = partial_product(in, 0, batch),
                                  .count = partial_product(indices, batch, indices.size() - 1),
                                  .slice = partial_product(in, indexed, in.size()),
                                  .dims = {in.begin() + static_cast<std::ptrdiff_t>(batch),
                                           in.begin() + static_cast<std::ptrdiff_t>(indexed)}},
                           .checked = ctx.checks(1)},
           {ctx.in(0), ctx.in(1), ctx.out(0)});
}

BoundResult bound(BoundContext& ctx) {
  const ir::Node& n = ctx.node;
  Items& in = ctx.in;
  const Item x = in[0], at = in[1];
  const size_t heads = at.value->shape().size() - 1;
  const auto depth = static_cast<size_t>(at.value->shape().back());
  if (n.int_attr("batch_dims", 0) != 0 || (at.size && at.axis >= heads)) return ctx.refuse_sizes();
  if (x.size && at.size && x.axis >= depth) ctx.refuse_size(x);
  if (x.size && x.axis < depth)
    in[1].value = ctx.checked_index(at, x.size, x.value->shape()[x.axis], x.axis);
  else if (at.size)
    in[1].value = ctx.zero_filled(at);
  for (size_t d = 0; at.size && d < depth; d++) {
    if (x.value->shape()[d] == 0 && !x.sized_along(d))
      in[1].value = ctx.checked_index(Item(in[1]), ctx.build.integer(0), 0, d);
    ctx.ensure_place(0, d);
  }
  if (at.size || !x.size || x.axis < depth) return {at.size, at.axis};
  return {x.size, heads + x.axis - depth};
}

void map_axes(AxesContext& ctx) {
  const Shape &in = ctx.in(0), &indices = ctx.in(1);
  const auto batch = static_cast<size_t>(ctx.node.int_attr("batch_dims", 0));
  const size_t picked = batch + static_cast<size_t>(indices.back());
  axes::range(ctx, 0, 0, batch, 0, 0);
  axes::range(ctx, 0, picked, in.size(), 0, indices.size() - 1);
  axes::range(ctx, 1, 0, indices.size() - 1, 0, 0);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "GatherND",
                   .since = 11,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::gather_nd,
                   .facts = {.moves = true, .trial = {"T[4,4]; s64[1,2] = [0, 1]"}},
                   .bound = bound};

}  // namespace poprt::ops::gather_nd_op

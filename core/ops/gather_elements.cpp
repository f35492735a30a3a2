// An index outside [-n, n) is a failure of the run, or selects zero
// (kernels/calls/gather_elements.h).
#include "kernels/calls/gather_elements.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/movement.h"

namespace poprt::ops::gather_elements_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &in = ctx.in(0), &indices = ctx.in(1);
  check_index_dtype(ctx, 1);
  if (in.has_shape && indices.has_shape) {
    const auto rank = static_cast<int64_t>(in.shape.size());
    if (indices.shape.size() != in.shape.size())
      ctx.fail_input("data has rank {}, indices have rank {}", rank, indices.shape.size());
    const auto axis = static_cast<size_t>(axis_of(ctx, ctx.node.int_attr("axis", 0), rank));
    for (size_t d = 0; d < in.shape.size(); d++)
      if (d != axis && in.shape[d] >= 0 && indices.shape[d] > in.shape[d])
        ctx.fail_input("indices {} are larger than data {}", shape_string(indices.shape),
                       shape_string(in.shape));
    check_indices(ctx, 1, in.shape[axis], axis);
  }
  ir::ValueType out = indices;
  out.dtype = in.dtype;
  ctx.out(0, std::move(out));
}

void lower(LowerContext& ctx) {
  const Shape &in = ctx.in_shape(0), &indices = ctx.in_shape(1);
  element_bytes(ctx, ctx.in_dtype(0));
  const auto rank = static_cast<int64_t>(in.size());
  ctx.emit(calls::GatherElements{.at = {.axis = normalize_axis(ctx.node.int_attr("axis", 0), rank),
                                        .data_dims = {in.begin(), in.end()},
                                        .index_dims = {indices.begin(), indices.end()}},
                                 .checked = ctx.checks(1)},
           {ctx.in(0), ctx.in(1), ctx.out(0)});
}

BoundResult bound(BoundContext& ctx) {
  Items& in = ctx.in;
  const Item x = in[0];
  Item at = in[1];
  const size_t axis = ctx.axis_attr(0);
  const int64_t room = x.value->shape()[axis];
  const bool along = x.sized_along(axis);
  if (at.size && x.size && x.axis != axis && !same_size(at.size, x.size)) {
    // More rows of indices than real rows of the data are a failure of the run.
    if (at.axis == x.axis) {
      at.size = ctx.checked_number(calls::Fitting::rows, at.size, x.size);
    } else {
      ir::Value* rows = ctx.build.integer(at.value->shape()[x.axis]);
      Item read = at;
      read.sized(ctx.checked_number(calls::Fitting::rows, rows, x.size), x.axis);
      at.value = ctx.zero_filled(read);
    }
  }
  if (along || (at.size && room == 0))
    in[1].value = ctx.checked_index(at, along ? x.size : ctx.build.integer(0), room);
  else if (at.size)
    in[1].value = ctx.zero_filled(at);
  if (at.size) {
    ctx.ensure_place(0, axis);
    return {at.size, at.axis};
  }
  if (x.axis == axis) return {};
  const int64_t rows = at.value->shape()[x.axis];
  if (rows == x.value->shape()[x.axis]) return {x.size, x.axis};
  // Indices of fewer rows than the bound read as many rows of the data.
  Item read = at;
  read.sized(ctx.checked_number(calls::Fitting::rows, ctx.build.integer(rows), x.size), x.axis);
  in[1].value = ctx.checked_index(read, ctx.build.integer(room), room);
  return {};
}

void map_axes(AxesContext& ctx) {
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", 0), static_cast<int64_t>(ctx.in(0).size())));
  for (size_t d = 0; d < ctx.in(0).size(); d++) {
    if (d == axis) continue;
    // An axis is carried only if the indices cover it completely.
    if (ctx.in(0)[d] == ctx.out()[d])
      ctx.carry(0, d, 0, d);
    else
      ctx.link({0, d, 0, d});
  }
  axes::same(ctx, 1, 0);
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "GatherElements",
    .since = 11,
    .infer = infer,
    .lower = lower,
    .axes = map_axes,
    .cost = cost::gather_elements,
    .facts = {.moves = true, .narrows = true, .trial = {"T[4,4]; s64[1,2] = [0, 1]"}},
    .bound = bound};

}  // namespace poprt::ops::gather_elements_op

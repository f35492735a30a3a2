// Inputs: theta [N, 2, 3] or [N, 3, 4], and a constant size [N, C, (D,) H, W].
#include "kernels/calls/affine_grid.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"

namespace poprt::ops::affine_grid_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& theta = ctx.in(0);
  const auto size = ctx.ints(1);
  if (!size) return ctx.out_dtype(0, theta.dtype);
  if ((size->size() != 4 && size->size() != 5) || !is_static(*size))
    ctx.fail_input("size {} must have four or five dimensions", shape_string(*size));
  const auto rank = static_cast<int64_t>(size->size()) - 2;
  const Shape wanted = {size->at(0), rank, rank + 1};
  if (theta.is_static() && theta.shape != wanted)
    ctx.fail_input("theta {} should be {}", shape_string(theta.shape), shape_string(wanted));
  Shape grid = {size->at(0)};
  grid.insert(grid.end(), size->begin() + 2, size->end());
  grid.push_back(rank);
  ctx.out(0, theta.dtype, std::move(grid));
}

void lower(LowerContext& ctx) {
  if (!ctx.constant(1)) ctx.fail_unsupported("the size must be constant");
  const Shape& grid = ctx.out_shape();
  const DType t = real_type(ctx);
  const auto y = out_as(ctx, 0, t);
  ctx.emit(calls::AffineGrid{.n = grid[0],
                             .align_corners = ctx.node.int_attr("align_corners", 0) != 0,
                             .size = {grid.begin() + 1, grid.end() - 1}},
           {in_as(ctx, 0, t), y});
  finish_as(ctx, 0, y, t);
}

// Row r of theta determines coordinate r of every point.
void map_axes(AxesContext& ctx) {
  ctx.carry(0, 0, 0, 0);
  ctx.carry(0, 1, 0, ctx.out().size() - 1);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "AffineGrid",
                   .since = 20,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::affine_grid,
                   .facts = {.shape_inputs = 0b10,
                             .constant_inputs = 0b10,
                             .trial = {"T[1,2,3]; s64[4] = [1, 1, 2, 2]"}}};

}  // namespace poprt::ops::affine_grid_op

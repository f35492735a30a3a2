// What the quantised operators share.
#pragma once

#include "kernels/calls/common/quantization_grid.h"
#include "ops/op.h"

namespace poprt::ops {

// [outer, n, inner, block, per_axis] for kernels quantize and dequantize: how `scale` lies over
// `x`. One element: for all; a vector: along `axis`; the rank of x: blocks of `block_size` (0: as
// the shapes say). Throws invalid_argument naming the node when they do not fit.
kernels::calls::QuantizationGrid quantization_grid(const ir::Node& node, const Shape& x,
                                                   const Shape& scale, int64_t axis,
                                                   int64_t block_size);

// As above, for a QuantizeLinear or DequantizeLinear whose shapes are known: what fuses it does not
// look any more.
void check_quantization(const InferContext& ctx);
// The axes of such a node.
void axes_of_quantization(AxesContext& ctx);

// A zero point (input `zero`, which may be left out) is of the type of its data (input `data`).
void check_zero_point(const InferContext& ctx, size_t zero, size_t data);

// y (u8, s8 or a float type) = saturate(round(sums * a_scale * b_scale / y_scale) + zero): the last
// step of QLinearMatMul and QLinearConv. sums is s32 (or f32 for f8 operands), seen as [outer,
// rows, columns]; a_scale has one element or `rows`, b_scale one, `columns`, or (by_row) `rows`.
struct Requantize {
  program::BufferId sums, a_scale, b_scale, y_scale, y_zero, y;
  int64_t outer, rows, columns;
  bool a_by_row = false, b_by_row = false, b_by_column = false;
};
void emit_requantize(LowerContext& ctx, const Requantize& r);

}  // namespace poprt::ops

// Helpers shared by the quantised operators.
#pragma once

#include "kernels/calls/common/quantization_grid.h"
#include "ops/op.h"

namespace poprt::ops {

// The grid of kernels quantize and dequantize, [outer, n, inner, block, per_axis]: how `scale`
// applies to `x`. One element applies to all; a vector applies along `axis`; a scale with the rank
// of x applies to blocks of `block_size` (0: derived from the shapes). Throws invalid_argument
// naming the node if the shapes do not match.
kernels::calls::QuantizationGrid quantization_grid(const ir::Node& node, const Shape& x,
                                                   const Shape& scale, int64_t axis,
                                                   int64_t block_size);

// Checks the grid of a QuantizeLinear or DequantizeLinear whose shapes are known, because the
// passes that fuse it do not check it.
void check_quantization(const InferContext& ctx);
// States the axes of such a node.
void axes_of_quantization(AxesContext& ctx);

// Checks that zero point `zero` (an input that may be omitted) has the type of input `data`.
void check_zero_point(const InferContext& ctx, size_t zero, size_t data);

// y (u8 or s8) = saturate(round(sums * a_scale * b_scale / y_scale) + zero): the last step of
// QLinearMatMul and QLinearConv. sums is s32 and has the form [outer, rows, columns]; a_scale has
// one element or (a_by_row) `rows`, b_scale one, (b_by_column) `columns` or (b_by_row) `rows`.
struct Requantize {
  program::BufferId sums, a_scale, b_scale, y_scale, y_zero, y;
  int64_t outer, rows, columns;
  bool a_by_row = false, b_by_row = false, b_by_column = false;
};
void emit_requantize(LowerContext& ctx, const Requantize& r);

}  // namespace poprt::ops

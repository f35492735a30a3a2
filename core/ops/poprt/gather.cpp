// poprt.Gather (table [columns, depth], indices; both as in Gather over axis 0): selects rows of a
// constant table whose transpose a poprt.Linear multiplies with (pass tied_embeddings). Both read
// the panels that the product requires, so the table is stored once. Rows of a table of integers of
// 2, 4 or 8 bits are bytes that contain them, low bits first.
#include "kernels/calls/gather_panels.h"
#include "kernels/common/pack_matmul.h"
#include "ops/axes.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/matmul.h"
#include "ops/common/movement.h"
#include "ops/common/narrow_matmul.h"

namespace poprt::ops::poprt_gather_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &table = ctx.in(0), &indices = ctx.in(1);
  check_index_dtype(ctx, 1);
  if (!table.is_static() || table.shape.size() != 2)
    ctx.fail_input("the table must have two static dimensions");
  const DType dtype = is_integer(table.dtype) ? DType::u8 : table.dtype;
  if (!indices.has_shape) return ctx.out_dtype(0, dtype);
  check_indices(ctx, 1, table.shape[0], 0);
  Shape out = indices.shape;
  out.push_back(dtype == DType::u8 ? table.shape[1] * dtype_bits(table.dtype) / 8 : table.shape[1]);
  ctx.out(0, dtype, std::move(out));
}

void lower(LowerContext& ctx) {
  const Tensor* table = ctx.constant(0);
  const auto format = table ? narrow_format(table->dtype()) : std::nullopt;
  if (!table || table->dtype() == DType::f8_143 || (table->dtype() != DType::f32 && !format))
    ctx.fail_unsupported("the table must be constant, f32, f16, bf16 or integers of 2 to 8 bits");
  const int64_t columns = table->shape()[0], depth = table->shape()[1];
  calls::GatherPanels c{.columns = columns, .depth = depth};
  c.checked = ctx.checks(1);
  auto panels = LowerContext::kNone;
  if (format) {
    c.width = kernels::isa::kNarrowPanel;
    c.group = kernels::isa::narrow_group(*format);
    c.pair = kernels::narrow_pair(*format);
    if (kernels::isa::is_integer(*format)) {
      if (depth % c.group) ctx.fail_unsupported("columns of {} integers", depth);
      c.bits = kernels::isa::narrow_bits(*format);
      c.is_signed = is_signed(table->dtype());
      c.depth = depth * c.bits / 8;
      c.group = c.pair = 4;
    }
    panels = pack_narrow_panels(ctx, *table, {depth, columns, 1, depth});
  } else {
    c.width = kernels::kMatmulPanel;
    panels = pack_table(ctx, *table);
  }
  ctx.emit(c, {panels, ctx.in(1), ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  const size_t rank = ctx.in(1).size();
  ctx.carry(0, 1, 0, rank);
  axes::range(ctx, 1, 0, rank, 0, 0);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Gather",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::gather,
                   .facts = {.moves = true,
                             .narrows = true,
                             .weight_inputs = 0b1,
                             .trial = {"T[4,4]; s64[1,2] = [0, 1]"}}};

}  // namespace poprt::ops::poprt_gather_op

// poprt.QuantizeRows: stores rows of numbers as 8 bits with a scale for each row, for caches of
// keys and values (compiler/byte_caches.h). Input: [..., D] of f32, f16 or bf16. Output: s8 [..., D
// + 4]; the last four bytes of a row are its scale (kernels/calls/quantize_rows.h).
#include "kernels/calls/quantize_rows.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/movement.h"

namespace poprt::ops::poprt_quantize_rows_op {
namespace {

constexpr int64_t kScaleBytes = 4;

void infer(InferContext& ctx) {
  ir::ValueType type = ctx.in(0);
  type.dtype = DType::s8;
  if (!type.has_shape) return ctx.out_dtype(0, DType::s8);
  if (type.shape.empty()) ctx.fail_input("input 0 is a scalar, expected rows");
  if (type.shape.back() >= 0) type.shape.back() += kScaleBytes;
  if (type.symbols.size() == type.shape.size()) type.symbols.back().clear();
  ctx.out(0, type);
}

void lower(LowerContext& ctx) {
  const DType type = ctx.in_dtype(0);
  if (type != DType::f32 && type != DType::f16 && type != DType::bf16)
    ctx.fail_unsupported("the rows are {}, expected f32, f16 or bf16", dtype_name(type));
  const Shape& shape = ctx.in_shape(0);
  ctx.emit(calls::QuantizeRows{.rows = partial_product(shape, 0, shape.size() - 1),
                               .size = shape.back()},
           {in_as(ctx, 0, DType::f32), ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  const size_t last = ctx.in(0).size() - 1;
  axes::same(ctx, 0, 0, std::span(&last, 1));
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "QuantizeRows",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.trial = {"T[4,4]"}}};

}  // namespace poprt::ops::poprt_quantize_rows_op

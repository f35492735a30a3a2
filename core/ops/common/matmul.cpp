#include "kernels/calls/matmul.h"
#include "kernels/calls/matmul_dynamic.h"
#include "kernels/calls/matmul_generic.h"
#include "ops/common/matmul.h"

#include <array>

#include "base/checked.h"
#include "kernels/common/pack_matmul.h"
#include "ops/common/movement.h"
#include "ops/common/packed_bias.h"

namespace poprt::ops {

namespace {

struct MatmulPanels {
  int64_t k, n, b_k, b_n, batch;
  float scale;
  bool operator==(const MatmulPanels&) const = default;
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    const auto floats = program::as_array<float>(to);
    const size_t size = from[0].values<float>().size() / static_cast<size_t>(batch),
                 packed = floats.size() / static_cast<size_t>(batch);
    for (size_t i = 0; i < static_cast<size_t>(batch); i++)
      kernels::pack_matmul(from[0].values<float>().subspan(i * size, size), b_k, b_n, k, n, scale,
                           floats.subspan(i * packed, packed));
  }
};

}  // namespace

program::BufferId pack_panels(LowerContext& ctx, int64_t k, int64_t n,
                              const program::WeightForm& form, int64_t batch) {
  return ctx.pack(DType::f32,
                  {checked_mul(batch, kernels::matmul_panels(n)), k, kernels::kMatmulPanel}, form);
}

program::BufferId pack_table(LowerContext& ctx, const Tensor& table) {
  const int64_t n = table.shape()[0], k = table.shape()[1];
  return pack_panels(ctx, k, n, {{table}, MatmulPanels{k, n, 1, k, 1, 1}});
}

void lower_packed_matmul(LowerContext& ctx, const PackedMatmul& p) {
  const int64_t columns = checked_mul(kernels::matmul_panels(p.n), kernels::kMatmulPanel);
  const auto b =
      p.panels != program::kNoBuffer
          ? p.panels
          : pack_panels(ctx, p.k, p.n,
                        {{p.b}, MatmulPanels{p.k, p.n, p.b_k, p.b_n, p.batch, p.b_scale}}, p.batch);
  const auto bias =
      p.bias.defined() ? pack_bias(ctx, p.bias, p.n, columns, p.bias_scale) : LowerContext::kNone;
  ctx.emit(calls::Matmul{.m = p.m,
                         .n = p.n,
                         .k = p.k,
                         .epilogue = epilogue_of(p.activation, p.residual_after),
                         .batch = p.batch,
                         .a_stride = p.a_stride},
           {p.a, b, bias, p.residual, p.c});
}

void lower_strided_matmul(LowerContext& ctx, const StridedMatmul& given) {
  StridedMatmul p = given;
  if (p.dtype == DType::f32 && p.batch.empty() && p.a_k != 1 && p.m > 0 && p.k > 0) {
    // The fast kernel requires contiguous rows of a, so a is copied.
    StridedCopy copy;
    copy.dims = {p.m, p.k};
    copy.from_strides = {p.a_row, p.a_k};
    copy.to_strides = {p.k, 1};
    const auto rows = ctx.temporary(DType::f32, copy.dims);
    emit_strided_copy(ctx, p.a, rows, DType::f32, copy);
    p.a = rows;
    p.a_row = p.k;
    p.a_k = 1;
  }
  calls::StridedProduct product{.m = p.m,
                                .n = p.n,
                                .k = p.k,
                                .a_row = p.a_row,
                                .a_k = p.a_k,
                                .b_k = p.b_k,
                                .b_n = p.b_n,
                                .c_row = p.c_row,
                                .c_n = p.c_n,
                                .batch = {},
                                .alpha = p.alpha,
                                .beta = p.beta};
  for (const auto& d : p.batch)
    product.batch.push_back({.count = d.count, .a = d.a_stride, .b = d.b_stride});
  const std::array<program::BufferId, 4> operands = {p.a, p.b, p.c, p.out};
  if (p.dtype == DType::f32 && p.a_k == 1)
    ctx.emit(calls::MatmulDynamic{product}, operands);
  else
    ctx.emit(calls::MatmulGeneric{product}, operands);
}

namespace {

// Removes the size along axis `d`; a size along another axis is kept.
Item without_axis(const Item& item, size_t d) {
  if (!item.sized_along(d)) return item;
  return item.along(item.axis != d ? item.axis : item.twin.value_or(d + 1));
}

// Replaces padding along the summed axes, ka of input 0 and kb of input 1, by zeros.
void fill_summed(BoundContext& ctx, size_t ka, size_t kb) {
  Items& in = ctx.in;
  const bool of_a = in[0].sized_along(ka), of_b = in[1].sized_along(kb);
  if (!of_a && !of_b) return;
  // Both axes have the same length, but their bounds may differ.
  const int64_t bound = std::min(ctx.shape(0)[ka], ctx.shape(1)[kb]);
  const auto fill = [&](Item& item, size_t axis, ir::Value* size) {
    Item along = item;
    along.sized(size, axis);
    along.value = ctx.with_bound(along, bound);
    item.value = ctx.zero_filled(along);
  };
  if (of_a) fill(in[0], ka, in[0].size);
  if (of_b) fill(in[1], kb, in[1].size);
  // The zeros must not be multiplied by infinities, so the other operand is filled as well.
  if (!of_b && is_float(in[1].value->dtype()) && !in[1].value->is_constant())
    fill(in[1], kb, in[0].size);
}

}  // namespace

BoundResult bound_product(BoundContext& ctx, bool gemm) {
  const ir::Node& n = ctx.node;
  Items& in = ctx.in;
  const size_t ra = in[0].value->shape().size(), rb = in[1].value->shape().size();
  const bool flip_a = gemm && n.int_attr("transA", 0) != 0;
  const bool flip_b = gemm && n.int_attr("transB", 0) != 0;
  const size_t ka = flip_a ? 0 : ra - 1;
  const size_t kb = rb == 1 ? 0 : flip_b ? rb - 1 : rb - 2;
  const size_t rank = std::max(ra, rb);
  BoundResult out;
  const auto set = [&](ir::Value* size, size_t axis) {
    if (out.size && out.axis != axis && !same_size(out.size, size)) ctx.refuse_size(in[0]);
    if (out.size && out.axis != axis)
      out.twin = axis;
    else
      out = {size, axis};
  };
  fill_summed(ctx, ka, kb);
  const Item a = without_axis(in[0], ka), b = without_axis(in[1], kb);
  const bool rows = a.size, columns = b.size;
  const bool a_batch = rows && !gemm && a.axis + 2 < ra,
             b_batch = columns && !gemm && b.axis + 2 < rb;
  if (a_batch || b_batch) {
    const size_t axis = a_batch ? a.axis + rank - ra : b.axis + rank - rb;
    if (b_batch && b.axis + rank - rb != axis) ctx.refuse_size(b);
    std::vector<AxisSize> all;
    for (const Item* item : {&a, &b}) {
      const Shape& shape = item->value->shape();
      if (shape.size() + axis < rank || axis + shape.size() - rank + 2 >= shape.size()) continue;
      const size_t own = axis + shape.size() - rank;
      ir::Value* size = item->size && item->axis == own ? item->size : nullptr;
      if (size || shape[own] != 1) all.push_back({size, shape[own]});
    }
    const AxisSize common = ctx.broadcast_size(all);
    if (a_batch) in[0].value = ctx.broadcast_to(a, common);
    if (b_batch) in[1].value = ctx.broadcast_to(b, common);
    if (common.size) set(common.size, axis);
  }
  if (rows && !a_batch) set(a.size, gemm ? 0 : a.axis + rank - ra);
  if (columns && !b_batch) set(b.size, gemm ? 1 : rank - 1 - (ra == 1 ? 1 : 0));
  if (gemm && in.size() > 2 && in[2].size) {
    const size_t axis = in[2].axis + 2 - in[2].value->shape().size();
    const int64_t room = axis == 0 ? a.value->shape()[1 - ka] : b.value->shape()[1 - kb];
    ir::Value* size = out.size && out.axis == axis ? out.size : nullptr;
    const AxisSize common = ctx.broadcast_size(
        std::array{AxisSize{in[2].size, in[2].value->shape()[in[2].axis]}, AxisSize{size, room}});
    in[2].value = ctx.broadcast_to(in[2], {common.size, room});
    if (common.size) set(common.size, axis);
  } else if (gemm && in.size() > 2 && in[2].value && out.size) {
    const Shape& shape = in[2].value->shape();
    Item c = in[2];
    c.axis = out.axis + shape.size() - 2;
    if (out.axis + shape.size() >= 2 && shape[c.axis] != 1)
      in[2].value =
          ctx.with_bound(c, out.axis == 0 ? a.value->shape()[1 - ka] : b.value->shape()[1 - kb]);
  }
  return out;
}

}  // namespace poprt::ops

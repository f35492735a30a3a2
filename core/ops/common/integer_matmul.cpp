#include "ops/common/integer_matmul.h"

#include <algorithm>

#include "kernels/common/pack_quads.h"

namespace poprt::ops {
namespace {

Shape matrix(Shape shape, bool left) {
  if (shape.size() == 1) shape.insert(left ? shape.begin() : shape.end(), 1);
  return shape;
}

}  // namespace

void infer_integer_matmul(InferContext& ctx, size_t a, size_t b, DType result) {
  const ir::ValueType &ta = ctx.in(a), &tb = ctx.in(b);
  for (const ir::ValueType* t : {&ta, &tb})
    if (t->dtype != DType::undefined && t->dtype != DType::u8 && t->dtype != DType::s8)
      ctx.fail_unsupported("an operand is {}, supported are u8 and s8", dtype_name(t->dtype));
  if (!ta.has_shape || !tb.has_shape) return ctx.out_dtype(0, result);
  if (ta.shape.empty() || tb.shape.empty()) ctx.fail_input("operands must have a dimension");
  const Shape as = matrix(ta.shape, true), bs = matrix(tb.shape, false);
  const int64_t ka = as.back(), kb = bs[bs.size() - 2];
  if (ka >= 0 && kb >= 0 && ka != kb)
    ctx.fail_input("{} does not fit {}", shape_string(ta.shape), shape_string(tb.shape));
  Shape out =
      broadcast_shapes(std::span(as).first(as.size() - 2), std::span(bs).first(bs.size() - 2));
  if (ta.shape.size() > 1) out.push_back(as[as.size() - 2]);
  if (tb.shape.size() > 1) out.push_back(bs.back());
  ctx.out(0, result, std::move(out));
}

void lower_integer_matmul(LowerContext& ctx, size_t a, size_t b, size_t a_zero, size_t b_zero,
                          program::BufferId sums) {
  const Shape as = matrix(ctx.in_shape(a), true), bs = matrix(ctx.in_shape(b), false);
  const int64_t m = as[as.size() - 2], k = as.back(), n = bs.back();
  const auto per = [&](size_t i, int64_t count) {
    if (!ctx.has(i)) return false;
    const int64_t found = element_count(ctx.in_shape(i));
    if (found != 1 && found != count)
      ctx.fail_unsupported("zero point {} must have one element or {}",
                           shape_string(ctx.in_shape(i)), count);
    return found != 1;
  };
  const auto a_strides = contiguous_strides(as), b_strides = contiguous_strides(bs);
  const size_t rank = std::max(as.size(), bs.size()) - 2;
  std::vector<int64_t> ints = {m, n, k, per(a_zero, m), per(b_zero, n), static_cast<int64_t>(rank)};
  for (size_t d = 0; d < rank; d++) {
    const size_t from_end = rank - d + 2;
    const auto dim = [&](const Shape& x) {
      return x.size() >= from_end ? x[x.size() - from_end] : 1;
    };
    const int64_t da = dim(as), db = dim(bs);
    ints.insert(ints.end(), {da == 1 ? db : da, da == 1 ? 0 : a_strides[as.size() - from_end],
                             db == 1 ? 0 : b_strides[bs.size() - from_end]});
  }
  const auto zero = [&](size_t i) { return ctx.has(i) ? ctx.in(i) : LowerContext::kNone; };
  // A constant matrix is packed once, and every matrix of a meets it: one product of all rows.
  const Tensor* weights = ctx.constant(b);
  const bool one_product = element_count(std::span(as).first(as.size() - 2)) == 1;
  if (weights && element_count(std::span(bs).first(bs.size() - 2)) == 1 && n > 0 && k > 0 &&
      (one_product || !ints[3])) {
    const bool is_signed = weights->dtype() == DType::s8;
    const int64_t panels = kernels::quad_panels(n);
    const Tensor w = *weights;
    const auto packed =
        ctx.pack(static_cast<uint64_t>(kernels::packed_quad_bytes(k, n)), DType::s8,
                 {kernels::packed_quad_bytes(k, n)}, [w, is_signed, k, n](std::span<std::byte> to) {
                   kernels::pack_quad_columns({static_cast<const std::byte*>(w.data()), w.bytes()},
                                              is_signed, k, n, to);
                 });
    const auto column_sums = ctx.pack(
        static_cast<uint64_t>(panels * kernels::kPackedQuadColumns * 4), DType::s32,
        {panels * kernels::kPackedQuadColumns}, [w, is_signed, k, n](std::span<std::byte> to) {
          kernels::sum_quad_columns({static_cast<const std::byte*>(w.data()), w.bytes()}, is_signed,
                                    k, n, {reinterpret_cast<int32_t*>(to.data()), to.size() / 4});
        });
    const program::BufferId operands[] = {ctx.in(a),    packed,       column_sums,
                                          zero(a_zero), zero(b_zero), sums};
    const int64_t rows = element_count(std::span(as).first(as.size() - 1));
    ctx.emit("matmul_integer_packed", operands,
             std::vector<int64_t>{rows, n, k, ints[3], ints[4], is_signed});
    return;
  }
  const program::BufferId operands[] = {ctx.in(a), ctx.in(b), zero(a_zero), zero(b_zero), sums};
  ctx.emit("matmul_integer", operands, ints);
}

}  // namespace poprt::ops

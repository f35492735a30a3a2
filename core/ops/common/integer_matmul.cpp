#include "ops/common/integer_matmul.h"

#include <algorithm>

#include "kernels/calls/matmul_integer.h"
#include "kernels/calls/matmul_integer_packed.h"
#include "kernels/common/pack_vnni.h"

namespace poprt::ops {
namespace {

Shape matrix(Shape shape, bool left) {
  if (shape.size() == 1) shape.insert(left ? shape.begin() : shape.end(), 1);
  return shape;
}

// Emits a kernel call for each product, because zero points differ between the matrices.
void lower_each_product(LowerContext& ctx, size_t a, size_t b, size_t a_zero, size_t b_zero,
                        program::BufferId sums) {
  const Shape as = matrix(ctx.in_shape(a), true), bs = matrix(ctx.in_shape(b), false);
  const int64_t m = as[as.size() - 2], k = as.back(), n = bs.back();
  // The bytes of matrix `index` of an input whose matrices have the shape `shape`.
  const auto part = [&](size_t i, int64_t index, const Shape& shape) {
    return ctx.view(ctx.in(i), static_cast<uint64_t>(index * element_count(shape)), ctx.in_dtype(i),
                    shape);
  };
  const auto zero = [&](size_t i, Quantized by, int64_t index, int64_t count) {
    if (!ctx.has(i)) return LowerContext::kNone;
    return by == Quantized::matrices ? part(i, index, {count}) : ctx.in(i);
  };
  const Quantized a_by = quantized_by(ctx, a_zero, as, m), b_by = quantized_by(ctx, b_zero, bs, n);
  uint64_t offset = 0;
  for (const MatrixPair& p : matrix_pairs(ctx, as, bs)) {
    const auto y = ctx.view(sums, offset, DType::s32, {m, n});
    ctx.emit(calls::MatmulInteger{.m = m,
                                  .n = n,
                                  .k = k,
                                  .a_rows = a_by != Quantized::whole,
                                  .b_columns = b_by != Quantized::whole,
                                  .batch = {}},
             {part(a, p.a, {m, k}), part(b, p.b, {k, n}), zero(a_zero, a_by, p.a, m),
              zero(b_zero, b_by, p.b, n), y});
    offset += static_cast<uint64_t>(m * n) * 4;
  }
}

// Packs a [k, n] matrix of bytes.
struct VnniColumns {
  int64_t k, n;
  bool operator==(const VnniColumns&) const = default;
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    kernels::pack_vnni_columns(program::bytes_of(from[0]), is_signed(from[0].dtype()), k, n, to);
  }
};
struct VnniColumnSums {
  int64_t k, n;
  bool operator==(const VnniColumnSums&) const = default;
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    kernels::sum_vnni_columns(program::bytes_of(from[0]), is_signed(from[0].dtype()), k, n,
                              program::as_array<int32_t>(to));
  }
};

}  // namespace

std::vector<MatrixPair> matrix_pairs(LowerContext& ctx, const Shape& a, const Shape& b) {
  const Shape as = matrix(a, true), bs = matrix(b, false);
  constexpr int64_t kMostProducts = 4096;
  std::vector<MatrixPair> pairs = {{0, 0}};
  const size_t rank = std::max(as.size(), bs.size());
  for (size_t d = 0; d + 2 < rank; d++) {
    const auto dim = [&](const Shape& x) {
      const size_t from_end = rank - d;
      return x.size() >= from_end ? x[x.size() - from_end] : 1;
    };
    const int64_t da = dim(as), db = dim(bs), count = da == 1 ? db : da;
    if (count * static_cast<int64_t>(pairs.size()) > kMostProducts)
      ctx.fail_unsupported("zero points or scales of more than {} matrices", kMostProducts);
    std::vector<MatrixPair> next;
    for (const MatrixPair& p : pairs)
      for (int64_t i = 0; i < count; i++)
        next.push_back({p.a * da + (da == 1 ? 0 : i), p.b * db + (db == 1 ? 0 : i)});
    pairs = std::move(next);
  }
  return pairs;
}

Quantized quantized_by(const LowerContext& ctx, size_t i, const Shape& of, int64_t count) {
  if (!ctx.has(i)) return Quantized::whole;
  const Shape& shape = ctx.in_shape(i);
  const int64_t found = element_count(shape);
  if (found == 1) return Quantized::whole;
  if (found == count) return Quantized::lines;
  const auto batch = std::span(of).first(of.size() - 2);
  if (shape.size() != of.size() || found != element_count(batch) * count ||
      !std::equal(batch.begin(), batch.end(), shape.begin()))
    ctx.fail_unsupported(
        "a zero point or scale {} of {} must have one element, {}, or {} for each matrix",
        shape_string(shape), shape_string(of), count, count);
  return Quantized::matrices;
}

void infer_integer_matmul(InferContext& ctx, size_t a, size_t b, DType result) {
  const ir::ValueType &ta = ctx.in(a), &tb = ctx.in(b);
  for (const ir::ValueType* t : {&ta, &tb})
    if (t->dtype != DType::undefined && t->dtype != DType::u8 && t->dtype != DType::s8)
      ctx.fail_unsupported("an operand is {}, expected u8 or s8", dtype_name(t->dtype));
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
                          program::BufferId sums, std::optional<SumScale> scale) {
  const Shape as = matrix(ctx.in_shape(a), true), bs = matrix(ctx.in_shape(b), false);
  const int64_t m = as[as.size() - 2], k = as.back(), n = bs.back();
  const Quantized a_by = quantized_by(ctx, a_zero, as, m), b_by = quantized_by(ctx, b_zero, bs, n);
  if (a_by == Quantized::matrices || b_by == Quantized::matrices)
    return lower_each_product(ctx, a, b, a_zero, b_zero, sums);
  const auto a_strides = contiguous_strides(as), b_strides = contiguous_strides(bs);
  const size_t rank = std::max(as.size(), bs.size()) - 2;
  calls::MatmulInteger call{.m = m,
                            .n = n,
                            .k = k,
                            .a_rows = a_by == Quantized::lines,
                            .b_columns = b_by == Quantized::lines,
                            .batch = {}};
  for (size_t d = 0; d < rank; d++) {
    const size_t from_end = rank - d + 2;
    const auto dim = [&](const Shape& x) {
      return x.size() >= from_end ? x[x.size() - from_end] : 1;
    };
    const int64_t da = dim(as), db = dim(bs);
    call.batch.push_back({.count = da == 1 ? db : da,
                          .a = da == 1 ? 0 : a_strides[as.size() - from_end],
                          .b = db == 1 ? 0 : b_strides[bs.size() - from_end]});
  }
  const auto zero = [&](size_t i) { return ctx.has(i) ? ctx.in(i) : LowerContext::kNone; };
  // A constant matrix is packed once. If every matrix of a is multiplied by it, all rows form one
  // product.
  const Tensor* weights = ctx.constant(b);
  const bool one_product = element_count(std::span(as).first(as.size() - 2)) == 1;
  if (weights && element_count(std::span(bs).first(bs.size() - 2)) == 1 && n > 0 && k > 0 &&
      (one_product || !call.a_rows)) {
    const int64_t panels = kernels::vnni_panels(n);
    const int64_t packed_bytes = kernels::packed_vnni_bytes(k, n);
    const auto packed = ctx.pack(DType::s8, {packed_bytes}, {{*weights}, VnniColumns{k, n}});
    const auto column_sums = ctx.pack(DType::s32, {panels * kernels::kPackedVnniColumns},
                                      {{*weights}, VnniColumnSums{k, n}});
    std::vector<program::BufferId> operands = {ctx.in(a), packed, column_sums, zero(a_zero)};
    operands.push_back(scale ? LowerContext::kNone : zero(b_zero));
    if (scale) operands.insert(operands.end(), {scale->a_scale, scale->b_scale, scale->bias});
    operands.push_back(sums);
    const int64_t rows = element_count(std::span(as).first(as.size() - 1));
    ctx.emit(calls::MatmulIntegerPacked{.m = rows,
                                        .n = n,
                                        .k = k,
                                        .a_rows = call.a_rows,
                                        .b_columns = !scale && call.b_columns,
                                        .b_signed = is_signed(weights->dtype())},
             operands);
    return;
  }
  if (scale) ctx.fail_unsupported("scaled products require a constant matrix with elements");
  const program::BufferId operands[] = {ctx.in(a), ctx.in(b), zero(a_zero), zero(b_zero), sums};
  ctx.emit(call, operands);
}

}  // namespace poprt::ops

#include <algorithm>

#include "base/checked.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/matmul.h"
#include "ops/op.h"

namespace poprt::ops::matmul_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &a = ctx.in(0), &b = ctx.in(1);
  const DType dtype = a.dtype != DType::undefined ? a.dtype : b.dtype;
  if (!a.has_shape || !b.has_shape) return ctx.out_dtype(0, dtype);
  if (a.shape.empty() || b.shape.empty()) ctx.fail_input("operands must have a dimension");
  Shape as = a.shape, bs = b.shape;
  const bool vector_a = as.size() == 1, vector_b = bs.size() == 1;
  if (vector_a) as.insert(as.begin(), 1);
  if (vector_b) bs.push_back(1);
  const int64_t ka = as.back(), kb = bs[bs.size() - 2];
  if (ka >= 0 && kb >= 0 && ka != kb)
    ctx.fail_input("{} does not fit {}", shape_string(a.shape), shape_string(b.shape));
  Shape out =
      broadcast_shapes(std::span(as).first(as.size() - 2), std::span(bs).first(bs.size() - 2));
  if (!vector_a) out.push_back(as[as.size() - 2]);
  if (!vector_b) out.push_back(bs.back());
  ctx.out(0, dtype, std::move(out));
}

// Whether a constant b of shape [..., k, n] is packed: all rows of a are multiplied by one matrix,
// or each matrix of b by the same matrix a or by a separate one.
bool packs_batch(const Shape& a, const Shape& b) {
  const auto batch_of = [](const Shape& s) {
    const auto first = std::find_if(s.begin(), s.end() - 2, [](int64_t d) { return d != 1; });
    return std::span(first, s.end() - 2);
  };
  const auto batch = batch_of(b);
  if (std::ranges::find(batch, 0) != batch.end()) return false;
  return batch.empty() || batch_of(a).empty() || std::ranges::equal(batch, batch_of(a));
}

void lower(LowerContext& ctx) {
  Shape a = ctx.in_shape(0), b = ctx.in_shape(1);
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const int64_t k = a.back(), n = b.back();
  const Tensor* w = ctx.constant(1);
  if (ctx.out_dtype() == DType::f32 && w && packs_batch(a, b)) {
    PackedMatmul p;
    const int64_t products = element_count(std::span(a).first(a.size() - 2));
    p.batch = element_count(std::span(b).first(b.size() - 2));
    p.m = p.batch == 1 ? products * a[a.size() - 2] : a[a.size() - 2];
    p.a_stride = p.batch == 1 || products == 1 ? 0 : p.m * k;
    p.n = n;
    p.k = k;
    p.b = *w;
    p.b_k = n;
    p.b_n = 1;
    p.a = ctx.in(0);
    p.c = ctx.out(0);
    return lower_packed_matmul(ctx, p);
  }
  StridedMatmul s;
  s.dtype = ctx.out_dtype();
  s.m = a[a.size() - 2];
  s.n = n;
  s.k = k;
  s.a_row = k;
  s.a_k = 1;
  s.b_k = n;
  s.b_n = 1;
  const auto as = contiguous_strides(a), bs = contiguous_strides(b);
  const size_t rank = std::max(a.size(), b.size()) - 2;
  // If all rows of A are multiplied by the same B, the batch is one tall product.
  const bool shared = std::all_of(b.begin(), b.end() - 2, [](int64_t d) { return d == 1; });
  if (shared) {
    s.m = element_count(std::span(a).first(a.size() - 1));
  } else {
    for (size_t d = 0; d < rank; d++) {
      const size_t from_end = rank - d + 2;
      const auto dim = [&](const Shape& x) {
        return x.size() >= from_end ? x[x.size() - from_end] : 1;
      };
      const int64_t da = dim(a), db = dim(b);
      s.batch.push_back({da == 1 ? db : da, da == 1 ? 0 : as[a.size() - from_end],
                         db == 1 ? 0 : bs[b.size() - from_end]});
    }
  }
  s.a = ctx.in(0);
  s.b = ctx.in(1);
  s.out = ctx.out(0);
  lower_strided_matmul(ctx, s);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "MatMul",
                   .infer = infer,
                   .lower = lower,
                   .axes = [](AxesContext& c) { axes::product(c, 0, 1); },
                   .cost = cost::matmul,
                   .packs = 0b10,
                   .facts = {.layer = LayerForm::matmul,
                             .bounds_twins = true,
                             .weight_inputs = 0b11,
                             .flops = flops::product},
                   .bound = [](BoundContext& c) { return bound_product(c, false); }};

}  // namespace poprt::ops::matmul_op

// The compiler replaces equations of static floats and integers before lowering (pass
// replace_einsum_with_matmul). Here, two operands that form a (batched) matrix product are lowered
// to one, and one operand without summed labels is lowered to a strided copy. All other equations
// use the generic kernel. Half types are computed in f32.
#include <algorithm>

#include "kernels/calls/einsum.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/einsum_equation.h"
#include "ops/common/flops.h"
#include "ops/common/matmul.h"
#include "ops/common/movement.h"

namespace poprt::ops::einsum_op {
namespace {

void infer(InferContext& ctx) {
  const DType dtype = ctx.in(0).dtype;
  for (size_t i = 0; i < ctx.input_count(); i++)
    if (!ctx.in(i).is_static()) return ctx.out_dtype(0, dtype);
  const EinsumEquation e = parse_einsum(ctx.node);
  ctx.out(0, dtype, Shape(e.sizes.begin(), e.sizes.begin() + static_cast<std::ptrdiff_t>(e.rank)));
}

// Lowers a product [batch..., M, N] with one summed label, where label M is in only one operand and
// label N only in the other.
bool lower_as_matmul(LowerContext& ctx, const EinsumEquation& e,
                     std::span<const program::BufferId> in, program::BufferId y, DType type) {
  if (e.strides.size() != 2 || e.rank < 2 || e.labels.size() != e.rank + 1) return false;
  if (type != DType::f32 && type != DType::f64) return false;
  const size_t m = e.rank - 2, n = e.rank - 1, k = e.rank;
  size_t a = 0, b = 1;
  if (e.strides[a][n] != 0) std::swap(a, b);
  const auto &as = e.strides[a], &bs = e.strides[b];
  if (as[n] != 0 || bs[m] != 0 || std::count(e.sizes.begin(), e.sizes.end(), 0)) return false;
  StridedMatmul s;
  s.dtype = type;
  s.m = e.sizes[m];
  s.n = e.sizes[n];
  s.k = e.sizes[k];
  s.a_row = as[m];
  s.a_k = as[k];
  s.b_k = bs[k];
  s.b_n = bs[n];
  for (size_t d = 0; d < m; d++) s.batch.push_back({e.sizes[d], as[d], bs[d]});
  s.a = in[a];
  s.b = in[b];
  s.out = y;
  lower_strided_matmul(ctx, s);
  return true;
}

void lower(LowerContext& ctx) {
  const EinsumEquation e = parse_einsum(ctx.node);
  const DType type = ctx.out_dtype();
  if (e.strides.size() == 1 && e.labels.size() == e.rank && dtype_bits(type) >= 8) {
    // Nothing is summed: the result is a transpose or a diagonal.
    const Shape dims(e.sizes.begin(), e.sizes.end());
    emit_strided_copy(ctx, ctx.in(0), ctx.out(0), type,
                      {dims, e.strides[0], contiguous_strides(dims), 0, 0});
    return;
  }
  const bool narrow = is_float(type) && type != DType::f32 && type != DType::f64;
  std::vector<program::BufferId> operands;
  for (size_t i = 0; i < e.strides.size(); i++)
    operands.push_back(narrow ? in_as_f32(ctx, i) : ctx.in(i));
  const auto y = narrow ? out_as_f32(ctx, 0) : ctx.out(0);
  if (!lower_as_matmul(ctx, e, operands, y, narrow ? DType::f32 : type)) {
    operands.push_back(y);
    ctx.emit(calls::Einsum{.rank = static_cast<int64_t>(e.rank),
                           .sizes = {e.sizes.begin(), e.sizes.end()},
                           .strides = {e.strides.begin(), e.strides.end()}},
             operands);
  }
  if (narrow) finish_f32(ctx, 0, y);
}

// A label in the result is carried from each input axis with that label. All other labels are
// summed.
void map_axes(AxesContext& ctx) {
  const EinsumEquation e = parse_einsum(ctx.node);
  std::vector<std::vector<InputAxis>> summed(e.labels.size());
  for (size_t n = 0; n < e.terms.size(); n++)
    for (size_t d = 0; d < e.terms[n].size(); d++) {
      const auto l =
          static_cast<size_t>(std::ranges::find(e.labels, e.terms[n][d]) - e.labels.begin());
      if (l < e.rank)
        ctx.carry(n, d, 0, l);
      else if (ctx.in(n)[d] == e.sizes[l])
        summed[l].push_back({n, d});
    }
  for (auto& group : summed)
    if (!group.empty()) ctx.reduce(std::move(group));
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "Einsum",
    .since = 12,
    .infer = infer,
    .lower = lower,
    .axes = map_axes,
    .cost = cost::einsum,
    .facts = {.flops = flops::einsum, .trial = {"T[4,4]; T[4,4]", R"(equation = "ij,jk->ik")"}}};

}  // namespace poprt::ops::einsum_op

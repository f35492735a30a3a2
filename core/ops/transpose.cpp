#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/movement.h"

namespace poprt::ops::transpose_op {
namespace {

std::vector<int64_t> permutation(const ir::Node& node, size_t rank) {
  std::vector<int64_t> perm(rank);
  for (size_t i = 0; i < rank; i++) perm[i] = static_cast<int64_t>(rank - 1 - i);
  return node.ints_attr("perm", std::move(perm));
}

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  if (!in.has_shape) return ctx.out_dtype(0, in.dtype);
  const size_t rank = in.shape.size();
  const auto perm = permutation(ctx.node, rank);
  if (perm.size() != rank)
    ctx.fail_input("perm has {} axes, the input has rank {}", perm.size(), rank);
  std::vector<bool> seen(rank);
  ir::ValueType out = ir::ValueType::of(in.dtype, {});
  for (const int64_t p : perm) {
    const auto i = static_cast<size_t>(p);
    if (p < 0 || i >= rank || seen[i]) ctx.fail_input("perm is not a permutation");
    seen[i] = true;
    out.shape.push_back(in.shape[i]);
    if (!in.symbols.empty()) out.symbols.push_back(in.symbols[i]);
  }
  ctx.out(0, std::move(out));
}

void lower(LowerContext& ctx) {
  const Shape& in = ctx.in_shape(0);
  const auto perm = permutation(ctx.node, in.size());
  const auto strides = contiguous_strides(in);
  StridedCopy copy;
  copy.dims = ctx.out_shape();
  copy.to_strides = contiguous_strides(copy.dims);
  for (const int64_t p : perm) copy.from_strides.push_back(strides[static_cast<size_t>(p)]);
  emit_strided_copy(ctx, ctx.in(0), ctx.out(0), ctx.in_dtype(0), copy);
}

BoundResult bound(BoundContext& ctx) {
  const Item& x = ctx.in[0];
  const std::vector<int64_t> perm = ctx.node.ints_attr("perm");
  const size_t rank = ctx.shape().size();
  BoundResult out = {x.size};
  for (size_t d = 0; d < rank; d++) {
    const size_t from = perm.empty() ? rank - 1 - d : static_cast<size_t>(perm[d]);
    if (from == x.axis) out.axis = d;
    if (from == x.twin) out.twin = d;
  }
  return out;
}

void map_axes(AxesContext& ctx) {
  const auto perm = permutation(ctx.node, ctx.in(0).size());
  for (size_t d = 0; d < perm.size(); d++) ctx.carry(0, static_cast<size_t>(perm[d]), 0, d);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Transpose",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::transpose,
                   .facts = {.moves = true,
                             .narrows = true,
                             .bounds_twins = true,
                             .qdq = QdqForm::moves,
                             .monotone = Monotone::first},
                   .bound = bound};

}  // namespace poprt::ops::transpose_op

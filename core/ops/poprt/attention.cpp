// poprt.Attention: softmax(scale q k^T + mask) v for every head, without materialising the scores.
//
// Inputs: q [B,S,Cq], k [B,T,Ck], v [B,T,Cv], all f32, and an optional mask that broadcasts to
// [B,H,S,T]. An f32 mask is added to the scores; where a bool mask is false, the score becomes
// mask_value.
//
// Attributes: heads H, head_size D, scale, q_offset, k_offset, v_offset (dimension d of head h of q
// is column q_offset + h D + d, so the three may be one fused projection), mask_value (default
// -3.4e38), causal (query i sees keys up to i + T - S).
//
// Output: [B,S,H*D].
#include "kernels/calls/attention.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/op.h"

namespace poprt::ops::poprt_attention_op {
namespace {

void infer(InferContext& ctx) {
  const ir::Node& node = ctx.node;
  const int64_t heads = node.int_attr("heads", 0), size = node.int_attr("head_size", 0);
  if (heads < 1 || size < 1 || heads > (INT64_C(1) << 31) || size > (INT64_C(1) << 31))
    ctx.fail_input("heads is {} and head_size {}; both must be positive", heads, size);
  const char* const names[] = {"q_offset", "k_offset", "v_offset"};
  for (size_t i = 0; i < 3; i++) {
    const ir::ValueType& t = ctx.in(i);
    if (t.dtype != DType::undefined && t.dtype != DType::f32)
      ctx.fail_input("input {} is {}, expected f32", i, dtype_name(t.dtype));
    if (!t.has_shape) continue;
    if (t.shape.size() != 3)
      ctx.fail_input("input {} is {}, expected rank 3", i, shape_string(t.shape));
    const int64_t offset = node.int_attr(names[i], 0), columns = t.shape[2];
    if (columns >= 0 && (offset < 0 || heads * size > columns || offset > columns - heads * size))
      ctx.fail_input("{} {} with {} heads of {} exceeds {} columns", names[i], offset, heads, size,
                     columns);
  }
  const ir::ValueType& q = ctx.in(0);
  if (!q.has_shape) return ctx.out_dtype(0, DType::f32);
  ir::ValueType out = q;
  out.dtype = DType::f32;
  out.shape[2] = heads * size;
  if (out.symbols.size() == 3) out.symbols[2].clear();
  ctx.out(0, out);
}

void lower(LowerContext& ctx) {
  const ir::Node& node = ctx.node;
  ctx.emit(
      calls::Attention{.heads = node.int_attr("heads", 0),
                       .size = node.int_attr("head_size", 0),
                       .q_offset = node.int_attr("q_offset", 0),
                       .k_offset = node.int_attr("k_offset", 0),
                       .v_offset = node.int_attr("v_offset", 0),
                       .causal = node.int_attr("causal", 0) != 0,
                       .scale = node.float_attr("scale", 1.0f),
                       .mask_value = node.float_attr("mask_value", -3.402823466e38f)},
      {ctx.in(0), ctx.in(1), ctx.in(2), ctx.has(3) ? ctx.in(3) : LowerContext::kNone, ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  const ir::Node& n = ctx.node;
  const int64_t heads = n.int_attr("heads", 0), size = n.int_attr("head_size", 0);
  const char* const offsets[] = {"q_offset", "k_offset", "v_offset"};
  for (size_t i = 0; i < 3; i++) {
    const int64_t offset = n.int_attr(offsets[i], 0);
    ctx.carry(i, 0, 0, 0);
    ctx.link({i, 2, 0, 2, kNoRepeat, size, size, -offset});
    // Column d of a head depends on column d of the values only.
    if (i == 2 && size > 1) ctx.link({i, 2, 0, 2, size, 1, 1, -offset});
  }
  ctx.carry(0, 1, 0, 1);
  if (n.int_attr("causal", 0) != 0) ctx.number(0, 1);
  if (!ctx.has(3)) return;
  const size_t rank = ctx.in(3).size();
  for (size_t d = 0; d + 1 < rank && rank <= 4; d++) {
    const size_t full = d + 4 - rank;
    if (full == 1 && ctx.in(3)[d] == heads)
      axes::grouped(ctx, {{3, d}, 1, 0, 2, size, heads});
    else if (full != 1)
      ctx.carry(3, d, 0, full / 2);
  }
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "Attention",
    .domain = "poprt",
    .infer = infer,
    .lower = lower,
    .axes = map_axes,
    .cost = cost::projected_attention,
    .facts = {.attends = true,
              .trial = {"T[1,2,4]; T[1,2,4]; T[1,2,4]", "heads = 2, head_size = 2"}}};

}  // namespace poprt::ops::poprt_attention_op

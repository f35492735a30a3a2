// Attention of ONNX. Inputs: Q, K, V, attn_mask?, past_key?, past_value?, nonpad_kv_seqlen?.
// Outputs: Y, present_key?, present_value?, qk_matmul_output?.
//
// Tensors are [B, heads, S, size], or [B, S, heads * size] with the numbers of heads as attributes.
// The operator is computed in f32, or in f64 for f64 inputs.
#include "kernels/calls/cast.h"
#include "ops/common/attention_call.h"
#include "ops/common/axes.h"
#include "ops/common/check_numbers.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/movement.h"
#include "ops/common/value_range.h"

#include <cmath>
#include <limits>

namespace poprt::ops::attention_op {
namespace {

using BufferId = LowerContext::BufferId;

struct Sizes {
  bool packed;  // [B, S, heads * size]
  int64_t batch, q_heads, kv_heads, queries, new_keys, past, keys, head, v_size;
};

// Requires static shapes.
Sizes sizes_of(const ir::Node& node) {
  const Shape &q = node.input(0)->shape(), &k = node.input(1)->shape(), &v = node.input(2)->shape();
  const auto bad = [&](std::string_view what) {
    fail(ErrorCode::invalid_argument, "{}: {}; Q {}, K {}, V {}", node.describe(), what,
         shape_string(q), shape_string(k), shape_string(v));
  };
  if ((q.size() != 3 && q.size() != 4) || k.size() != q.size() || v.size() != q.size())
    bad("Q, K and V must all have three or four dimensions");
  Sizes s{};
  s.packed = q.size() == 3;
  s.batch = q[0];
  if (s.packed) {
    s.q_heads = node.int_attr("q_num_heads", 0);
    s.kv_heads = node.int_attr("kv_num_heads", 0);
    if (s.q_heads < 1 || s.kv_heads < 1) bad("q_num_heads and kv_num_heads are required");
    if (q[2] % s.q_heads || k[2] % s.kv_heads || v[2] % s.kv_heads)
      bad("hidden sizes do not divide into heads");
    s.queries = q[1];
    s.new_keys = k[1];
    s.head = q[2] / s.q_heads;
    s.v_size = v[2] / s.kv_heads;
    if (k[2] / s.kv_heads != s.head || v[1] != k[1]) bad("sizes do not fit");
  } else {
    s.q_heads = q[1];
    s.kv_heads = k[1];
    s.queries = q[2];
    s.new_keys = k[2];
    s.head = q[3];
    s.v_size = v[3];
    if (k[3] != s.head || v[1] != k[1] || v[2] != k[2]) bad("sizes do not fit");
  }
  if (k[0] != s.batch || v[0] != s.batch || s.kv_heads < 1 || s.q_heads % s.kv_heads)
    bad("batch or heads do not fit");
  if (node.input(5) && !node.input(4)) bad("past_value is given without past_key");
  if (node.input(4)) {
    const Shape& past = node.input(4)->shape();
    if (past.size() != 4) bad("past_key must have four dimensions");
    s.past = past[2];
    if (past != Shape{s.batch, s.kv_heads, s.past, s.head} || !node.input(5) ||
        node.input(5)->shape() != Shape{s.batch, s.kv_heads, s.past, s.v_size})
      bad("past_key or past_value does not fit");
  }
  s.keys = s.past + s.new_keys;
  return s;
}

void infer(InferContext& ctx) {
  const DType q = ctx.in(0).dtype, v = ctx.in(2).dtype;
  bool known = true;
  for (size_t i = 0; i < 6; i++)
    if (i < 3 || i > 3)
      if (ctx.has(i)) known = known && ctx.in(i).is_static();
  if (!known) {
    ctx.out_dtype(0, q);
    ctx.out_dtype(1, q);
    ctx.out_dtype(2, v);
    return ctx.out_dtype(3, q);
  }
  const Sizes s = sizes_of(ctx.node);
  check_lengths(ctx.node, 6, s.keys, "nonpad_kv_seqlen");
  if (ctx.has(3) && ctx.in(3).is_static())
    mask_shape(ctx.node, 3, {s.batch, s.q_heads, s.queries, s.keys});
  if (s.packed)
    ctx.out(0, q, {s.batch, s.queries, s.q_heads * s.v_size});
  else
    ctx.out(0, q, {s.batch, s.q_heads, s.queries, s.v_size});
  ctx.out(1, q, {s.batch, s.kv_heads, s.keys, s.head});
  ctx.out(2, v, {s.batch, s.kv_heads, s.keys, s.v_size});
  ctx.out(3, q, {s.batch, s.q_heads, s.queries, s.keys});
}

// All keys or all values, the past ones first. The strides of batch, head and row are 0 if the rows
// are stored as [B, heads, keys, size].
struct Gathered {
  BufferId rows;
  std::array<int64_t, 3> strides{};
};

// Concatenates the past and the new part, and converts them to type `to`. If `present` is read, it
// receives the result before the conversion. Packed rows without a past are read where they are,
// because they may be a long cache.
Gathered gather_cache(LowerContext& ctx, const Sizes& s, size_t input, size_t past, size_t present,
                      int64_t size, DType to) {
  const DType type = ctx.in_dtype(input);
  const bool wanted =
      present < ctx.node.outputs().size() && ctx.out(present) != LowerContext::kNone;
  Gathered all{ctx.in(input)};
  Shape shape{s.batch, s.kv_heads, s.keys, size};
  if (ctx.has(past) || wanted) {
    all.rows = wanted ? ctx.out(present) : ctx.temporary(type, shape);
    StridedCopy copy;
    copy.to_strides = {s.kv_heads * s.keys * size, s.keys * size, size, 1};
    if (ctx.has(past)) {
      copy.dims = {s.batch, s.kv_heads, s.past, size};
      copy.from_strides = contiguous_strides(copy.dims);
      emit_strided_copy(ctx, ctx.in(past), all.rows, type, copy);
    }
    copy.dims = {s.batch, s.kv_heads, s.new_keys, size};
    copy.from_strides = contiguous_strides(copy.dims);
    if (s.packed) copy.from_strides = {s.new_keys * s.kv_heads * size, size, s.kv_heads * size, 1};
    copy.to_offset = s.past * size;
    emit_strided_copy(ctx, ctx.in(input), all.rows, type, copy);
  } else if (s.packed) {
    shape = ctx.in_shape(input);
    all.strides = head_strides(true, s.kv_heads, s.keys, size);
  }
  if (type == to) return all;
  const BufferId wide = ctx.temporary(to, shape);
  ctx.emit(calls::Cast{}, {all.rows, wide});
  all.rows = wide;
  return all;
}

void lower(LowerContext& ctx) {
  const Sizes s = sizes_of(ctx.node);
  const DType t = real_type(ctx);
  const BufferId q = in_as(ctx, 0, t);
  const Gathered k = gather_cache(ctx, s, 1, 4, 1, s.head, t),
                 v = gather_cache(ctx, s, 2, 5, 2, s.v_size, t);
  calls::AttentionGeneric call = attention_call(ctx.node, s);
  call.offset = s.past;
  call.stage = ctx.node.int_attr("qk_matmul_output_mode", 0);
  call.q = head_strides(s.packed, s.q_heads, s.queries, s.head);
  call.y = head_strides(s.packed, s.q_heads, s.queries, s.v_size);
  // The call stores the strides of both operands or of none.
  if (k.strides != std::array<int64_t, 3>{} || v.strides != std::array<int64_t, 3>{}) {
    const auto of = [&](const Gathered& g, int64_t size) {
      return g.strides != std::array<int64_t, 3>{} ? g.strides
                                                   : head_strides(false, s.kv_heads, s.keys, size);
    };
    call.k = of(k, s.head);
    call.v = of(v, s.v_size);
  }
  const BufferId mask = attention_mask(ctx, 3, t, call);
  const BufferId y = out_as(ctx, 0, t);
  const BufferId place = y != LowerContext::kNone ? y : ctx.temporary(t, ctx.out_shape());
  const BufferId scores = out_as(ctx, 3, t);
  check_numbers(ctx, 6, calls::Number::valid_keys, s.keys + 1);
  const BufferId lengths = ctx.has(6) ? ctx.in(6) : LowerContext::kNone;
  const BufferId operands[] = {q, k.rows, v.rows, mask, lengths, place, scores};
  const float usual = t == DType::f64 ? std::numeric_limits<float>::quiet_NaN()
                                      : 1.0f / std::sqrt(static_cast<float>(s.head));
  call.scale = ctx.node.float_attr("scale", usual);
  call.softcap = ctx.node.float_attr("softcap", 0);
  ctx.emit(call, operands);
  finish_as(ctx, 0, y, t);
  finish_as(ctx, 3, scores, t);
}

// Query heads share key and value heads in groups of q_heads / kv_heads. `at` is the axis of output
// `to` that holds the heads, `columns` the number of columns of each head.
struct Heads {
  size_t to, at;
  int64_t columns;
};

// States the axes of `present`: the past key or value, followed by the new one (`input`).
void map_present(AxesContext& ctx, const Sizes& s, size_t input, size_t past, size_t present,
                 int64_t size) {
  const size_t heads = s.packed ? 2 : 1, tokens = s.packed ? 1 : 2;
  ctx.carry(input, 0, present, 0);
  axes::grouped(ctx, {{input, heads}, s.packed ? size : 1, present, 1, 1, s.kv_heads});
  ctx.link({input, tokens, present, 2, kNoRepeat, 1, 1, s.past});
  if (s.packed)
    axes::grouped(ctx, {{input, 2}, 1, present, 3, 1, size});
  else
    ctx.carry(input, 3, present, 3);
  const size_t along[] = {2};
  axes::same(ctx, past, present, along);
  if (ctx.has(past)) ctx.link({past, 2, present, 2});
  for (const size_t i : {0, 1, 2, 3, 4, 5, 6})
    if (i != input && i != past) ctx.independent(i, present);
}

// States the axes of the outputs of the attention itself: output 0, and the scores in output 3.
void map_attention(AxesContext& ctx, const Sizes& s, const Heads& h) {
  const size_t heads = s.packed ? 2 : 1, tokens = s.packed ? 1 : 2;
  const auto by_head = [&](size_t input, size_t axis, int64_t block, int64_t count) {
    axes::grouped(ctx, {{input, axis}, block, h.to, h.at, h.columns * (s.q_heads / count), count});
  };
  for (const size_t i : {0, 1, 2, 4, 5, 6})
    if (ctx.has(i)) ctx.carry(i, 0, h.to, 0);
  by_head(0, heads, s.packed ? s.head : 1, s.q_heads);
  by_head(1, heads, s.packed ? s.head : 1, s.kv_heads);
  by_head(2, heads, s.packed ? s.v_size : 1, s.kv_heads);
  if (ctx.has(4)) by_head(4, 1, 1, s.kv_heads);
  if (ctx.has(5)) by_head(5, 1, 1, s.kv_heads);
  const size_t queries = h.to == 0 && s.packed ? 1 : 2;
  ctx.carry(0, tokens, h.to, queries);
  const auto limited = [&](const char* window) { return ctx.node.find_attr(window) != nullptr; };
  if (ctx.node.int_attr("is_causal", 0) != 0 || limited("left_window_size") ||
      limited("right_window_size"))
    ctx.number(h.to, queries);
  if (!ctx.has(3)) return;
  const size_t rank = ctx.in(3).size();
  for (size_t d = 0; d + 1 < rank; d++) {
    const size_t full = d + 4 - rank;
    if (ctx.in(3)[d] == 1 && (full != 0 || s.batch != 1)) continue;
    if (full == 1)
      by_head(3, d, 1, s.q_heads);
    else
      ctx.carry(3, d, h.to, full == 0 ? 0 : queries);
  }
}

void map_axes(AxesContext& ctx) {
  const Sizes s = sizes_of(ctx.node);
  map_attention(ctx, s, {0, s.packed ? size_t{2} : size_t{1}, s.packed ? s.v_size : 1});
  // Column v of a head comes from column v of the values.
  for (const size_t i : {2, 5}) {
    if (!ctx.has(i)) continue;
    if (s.packed)
      axes::grouped(ctx, {{i, ctx.in(i).size() - 1}, 1, 0, 2, 1, s.v_size});
    else
      ctx.carry(i, 3, 0, 3);
  }
  if (ctx.makes(1)) map_present(ctx, s, 1, 4, 1, s.head);
  if (ctx.makes(2)) map_present(ctx, s, 2, 5, 2, s.v_size);
  if (!ctx.makes(3)) return;
  map_attention(ctx, s, {3, 1, 1});
  // Before the mask and the softmax, each column of the scores depends on one key only.
  if (ctx.node.int_attr("qk_matmul_output_mode", 0) == 0) {
    ctx.link({1, s.packed ? size_t{1} : size_t{2}, 3, 3, kNoRepeat, 1, 1, s.past});
    ctx.link({4, 2, 3, 3});
    for (const size_t i : {3, 6}) ctx.independent(i, 3);
  }
  for (const size_t i : {2, 5}) ctx.independent(i, 3);
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "Attention",
    .since = 23,
    .infer = infer,
    .lower = lower,
    .axes = map_axes,
    .cost = cost::attention,
    .facts = {.flops = flops::attention, .trial = {"T[1,4,4,4]; T[1,4,4,4]; T[1,4,4,4]"}}};

}  // namespace poprt::ops::attention_op

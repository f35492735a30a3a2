// poprt.CacheAttention: attention to keys and values in caches (compiler/byte_caches.h).
//
// Inputs: q [B,H,S,D], or [B,S,H*D]; k and v, f32 [B,KV,T,D] or [B,T,KV*D] if q is f32, or rows of
// QuantizeRows: s8 [B,KV,T,D+4], or [B,T,KV*(D+4)]; mask?, which broadcasts to [B,H,S,T] and is
// added to the scores, or false where a key is hidden; lengths? s64 [B], the number of valid keys.
//
// Attributes: q_num_heads, kv_num_heads, scale, softcap, is_causal, left_window_size and
// right_window_size as in Attention of ONNX, and offset, the position of the first query among the
// keys.
//
// Output: [B,H,S,Dv], or [B,S,H*Dv], where rows of v have Dv numbers (Dv may differ from D). The
// operator is computed in f32.
#include <cmath>

#include "ops/common/attention_call.h"
#include "ops/common/axes.h"
#include "ops/common/check_numbers.h"
#include "ops/common/value_range.h"

namespace poprt::ops::poprt_cache_attention_op {
namespace {

constexpr int64_t kScaleBytes = 4;

struct Sizes {
  bool q_packed = false, k_packed = false;
  int64_t batch = 0, q_heads = 0, kv_heads = 0, queries = 0, keys = 0, head = 0, v_size = 0;
  int64_t scale_bytes = 0;  // in each row of k and v
};

// Requires static shapes.
Sizes sizes_of(const ir::Node& node) {
  const Shape &q = node.input(0)->shape(), &k = node.input(1)->shape(), &v = node.input(2)->shape();
  const auto check = [&](bool ok, std::string_view what) {
    if (!ok)
      fail(ErrorCode::invalid_argument, "{}: {}; q {}, k {}, v {}", node.describe(), what,
           shape_string(q), shape_string(k), shape_string(v));
  };
  const auto is_rank = [](const Shape& s) { return s.size() == 3 || s.size() == 4; };
  check(is_rank(q) && is_rank(k) && v.size() == k.size(),
        "q, k and v must have three or four dimensions");
  Sizes s;
  s.q_packed = q.size() == 3;
  s.k_packed = k.size() == 3;
  s.q_heads = node.int_attr("q_num_heads", 0);
  s.kv_heads = node.int_attr("kv_num_heads", 0);
  check(s.q_heads > 0 && s.kv_heads > 0 && s.q_heads % s.kv_heads == 0,
        "q_num_heads must be a multiple of kv_num_heads");
  s.batch = q[0];
  s.queries = s.q_packed ? q[1] : q[2];
  s.keys = s.k_packed ? k[1] : k[2];
  const auto width = [&](const Shape& shape, int64_t heads) {
    check(shape.size() == 3 ? shape[2] % heads == 0 : shape[1] == heads,
          "hidden sizes do not divide into heads");
    return shape.size() == 3 ? shape[2] / heads : shape[3];
  };
  s.scale_bytes = node.input(1)->dtype() == DType::s8 ? kScaleBytes : 0;
  s.head = width(q, s.q_heads);
  s.v_size = width(v, s.kv_heads) - s.scale_bytes;
  check(k[0] == s.batch && v[0] == s.batch && (s.k_packed ? v[1] : v[2]) == s.keys &&
            width(k, s.kv_heads) == s.head + s.scale_bytes && s.v_size >= 0 &&
            node.input(2)->dtype() == node.input(1)->dtype(),
        "sizes do not fit");
  return s;
}

void infer(InferContext& ctx) {
  const ir::ValueType& q = ctx.in(0);
  for (const size_t i : {size_t{1}, size_t{2}})
    if (const DType type = ctx.in(i).dtype;
        type != DType::undefined && type != DType::s8 && (type != DType::f32 || type != q.dtype))
      ctx.fail_input("input {} is {}, expected s8, or f32 if the queries are f32", i,
                     dtype_name(type));
  if (!q.is_static() || !ctx.in(1).is_static() || !ctx.in(2).is_static())
    return ctx.out_dtype(0, q.dtype);
  const Sizes s = sizes_of(ctx.node);
  check_lengths(ctx.node, 4, s.keys, "length");
  if (s.q_packed)
    ctx.out(0, q.dtype, {s.batch, s.queries, s.q_heads * s.v_size});
  else
    ctx.out(0, q.dtype, {s.batch, s.q_heads, s.queries, s.v_size});
}

void lower(LowerContext& ctx) {
  const Sizes s = sizes_of(ctx.node);
  const DType type = ctx.in_dtype(0);
  if (type != DType::f32 && type != DType::f16 && type != DType::bf16)
    ctx.fail_unsupported("the queries are {}, expected f32, f16 or bf16", dtype_name(type));
  calls::AttentionGeneric call = attention_call(ctx.node, s);
  call.offset = ctx.node.int_attr("offset", 0);
  call.scale = ctx.node.float_attr("scale", 1 / std::sqrt(static_cast<float>(s.head)));
  call.softcap = ctx.node.float_attr("softcap", 0);
  call.q = head_strides(s.q_packed, s.q_heads, s.queries, s.head);
  call.y = head_strides(s.q_packed, s.q_heads, s.queries, s.v_size);
  if (s.k_packed) {
    call.k = head_strides(true, s.kv_heads, s.keys, s.head + s.scale_bytes);
    call.v = head_strides(true, s.kv_heads, s.keys, s.v_size + s.scale_bytes);
  }
  const auto mask = attention_mask(ctx, 3, DType::f32, call);
  const auto q = in_as(ctx, 0, DType::f32), y = out_as(ctx, 0, DType::f32);
  check_numbers(ctx, 4, calls::Number::valid_keys, s.keys + 1);
  ctx.emit(call, {q, ctx.in(1), ctx.in(2), mask, ctx.has(4) ? ctx.in(4) : LowerContext::kNone, y,
                  LowerContext::kNone});
  finish_as(ctx, 0, y, DType::f32);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "CacheAttention",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::none,
                   .facts = {.attends = true,
                             .trial = {"T[1,2,2,4]; s8[1,2,4,8]; s8[1,2,4,8]",
                                       "q_num_heads = 2, kv_num_heads = 2"}}};

}  // namespace poprt::ops::poprt_cache_attention_op

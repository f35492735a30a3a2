// query (or query, key and value side by side), key?, value?, past_key?, past_value?, seqlens_k [B]
// (total length - 1), total_sequence_length, cos_cache?, sin_cache?, position_ids?,
// attention_bias?, head_sink?, k_scale?, v_scale?, q_norm_weight?, k_norm_weight? to output,
// present_key?, present_value?, output_qk?
//
// total_sequence_length must be constant, or the past the whole cache, which then keeps its size.
#include <limits>

#include "ops/common/contrib_attention.h"
#include "ops/common/value_range.h"

namespace poprt::ops {
namespace {

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  AttentionCall call;
  call.heads = n.int_attr("num_heads", 0);
  call.kv_heads = n.int_attr("kv_num_heads", 0);
  e.check(call.heads > 0 && call.kv_heads > 0 && call.heads % call.kv_heads == 0,
          "num_heads must be a multiple of kv_num_heads");
  if (n.int_attr("sliding_window_cache", 0)) e.fail_unsupported("sliding_window_cache");
  if (e.has(12) || e.has(13) || n.int_attr("kv_cache_bit_width", 0))
    e.fail_unsupported("quantised caches of keys and values");
  for (const char* key : {"k_quant_type", "v_quant_type"})
    if (const std::string type = n.string_attr(key, "NONE"); type != "NONE")
      e.fail_unsupported("{} '{}', expected NONE", key, type);
  call.scale = static_cast<double>(n.float_attr("scale", 0));
  call.softcap = static_cast<double>(n.float_attr("softcap", 0));
  call.causal = n.int_attr("causal", 1) != 0;
  const int64_t window = n.int_attr("local_window_size", -1);
  if (window > 0) call.left_window = window - 1;
  call.q = e.in(0);
  call.k = e.in_or_null(1);
  call.v = e.in_or_null(2);
  e.check(!call.k == !call.v, "key and value are given both or not at all");
  if (!call.k) {
    const Shape s = e.shape(0);
    e.check(s.size() == 3 && s[2] % (call.heads + 2 * call.kv_heads) == 0,
            "query must hold query, key and value");
    const int64_t size = s[2] / (call.heads + 2 * call.kv_heads);
    const int64_t columns = call.heads * size, kv = call.kv_heads * size;
    call.k = e.slice(call.q, 2, columns, columns + kv);
    call.v = e.slice(call.q, 2, columns + kv, columns + 2 * kv);
    call.q = e.slice(call.q, 2, 0, columns);
  }
  const Shape q = e.shape_of(call.q);
  e.check(q.size() == 3 && q[2] % call.heads == 0, "query must be [batch, sequence, hidden]");
  const int64_t batch = q[0], tokens = q[1], size = q[2] / call.heads;
  const DType type = call.q->dtype();
  const auto normalised = [&](ir::Value* x, int64_t heads, size_t weight) {
    ir::Value* y = e.reshape(x, {batch, tokens, heads, size});
    y = e.add("SimplifiedLayerNormalization", {y, e.in(weight)},
              {{"epsilon", n.float_attr("qk_norm_epsilon", 1e-6f)}, {"axis", int64_t{-1}}});
    return e.reshape(y, {batch, tokens, heads * size});
  };
  if (e.has(14)) call.q = normalised(call.q, call.heads, 14);
  if (e.has(15)) call.k = normalised(call.k, call.kv_heads, 15);

  // Lengths: keys after this step (total), and before it (start).
  const int64_t cache = e.has(3) ? e.shape(3)[2] : 0;
  const bool known = e.in(6)->is_constant();
  if (!known && cache == 0) e.const_ints(6);
  const int64_t total = known ? e.const_ints(6).at(0) : cache;
  e.check(total >= 0 && total < (int64_t{1} << 40), "total_sequence_length is out of range");
  check_places(n, 5, std::max(cache, total), "seqlens_k");
  const bool prompt = known && total == tokens;
  ir::Value* lengths = e.plus(e.cast(e.reshape(e.in(5), {batch}), DType::s64), 1);
  ir::Value* start = prompt ? e.constant(Tensor::zeros(DType::s64, {batch}))
                            : e.plus(lengths, -static_cast<double>(tokens));
  if (n.int_attr("do_rotary", 0)) {
    ir::Value* positions;
    if (e.has(9) && e.shape(9) == Shape{batch, tokens} && !prompt)
      positions = e.in(9);
    else
      positions =
          e.add("Add", {e.reshape(start, {batch, 1}), e.reshape(e.iota(tokens), {1, tokens})});
    const auto rotate = [&](ir::Value* x, int64_t heads) {
      const int64_t rotated = 2 * e.shape(7).at(1);
      return e.newest("RotaryEmbedding", {x, e.in(7), e.in(8), positions},
                      {{"num_heads", heads},
                       {"rotary_embedding_dim", rotated == size ? int64_t{0} : rotated},
                       {"interleaved", n.int_attr("rotary_interleaved", 0)}});
    };
    call.q = rotate(call.q, call.heads);
    call.k = rotate(call.k, call.kv_heads);
  }

  // The caches after this step.
  const int64_t present = std::max(cache, total);
  const auto updated = [&](size_t past, ir::Value* x) {
    ir::Value* rows = split_heads(e, x, call.kv_heads);
    const int64_t width = e.shape_of(rows)[3];
    if (cache == 0 && present == tokens) return rows;
    ir::Value* buffer = cache ? e.in(past) : nullptr;
    if (present > cache) {
      ir::Value* zeros =
          e.expand(e.number(type, 0), {batch, call.kv_heads, present - cache, width});
      buffer = buffer ? e.concat({buffer, zeros}, 2) : zeros;
    }
    return write_cache(e, buffer, rows, start);
  };
  ir::Value *k = updated(3, call.k), *v = updated(4, call.v);
  e.out(1, k);
  e.out(2, v);

  ir::Value* bias = e.in_or_null(10);
  if (!prompt) {
    call.lengths = lengths;
    call.k = k;
    call.v = v;
  }
  const int64_t keys = prompt ? tokens : e.shape_of(k)[2];
  call.mask = bias;
  if (bias && e.shape_of(bias)[3] > keys) call.mask = e.slice(bias, 3, 0, keys);
  if (!call.causal && prompt) call.lengths = lengths;
  if (e.has(11) || n.int_attr("smooth_softmax", 0) == 1) {
    // One more key in front, without a value, whose score is the head's sink; masks say the rest.
    ir::Value* position = e.reshape(e.iota(keys), {1, 1, 1, keys});
    ir::Value* query = e.add(
        "Add", {e.reshape(start, {batch, 1, 1, 1}), e.reshape(e.iota(tokens), {1, 1, tokens, 1})});
    ir::Value* hidden =
        call.causal
            ? e.add("Greater", {position, query})
            : e.add("Not", {e.add("Less", {position, e.reshape(lengths, {batch, 1, 1, 1})})});
    if (call.left_window >= 0)
      hidden = e.add(
          "Or", {hidden,
                 e.add("Less", {position, e.plus(query, -static_cast<double>(call.left_window))})});
    ir::Value* mask = e.add(
        "Where",
        {hidden, e.number(type, -std::numeric_limits<double>::infinity()), e.number(type, 0)});
    mask = sum_of_masks(e, mask, widened_bias(e, call.mask, keys));
    Shape wide = {batch, call.heads, e.shape_of(mask)[2], keys};
    mask = e.expand(mask, wide);
    wide[3] = 1;
    ir::Value* sink = e.has(11) ? e.reshape(e.in(11), {1, call.heads, 1, 1}) : e.number(type, 0);
    call.mask = e.concat({e.expand(sink, wide), mask}, 3);
    const auto padded = [&](ir::Value* x) {
      Shape one = e.shape_of(x);
      const size_t axis = one.size() - 2;
      one[axis] = 1;
      return e.concat({e.expand(e.number(type, 0), one), x}, static_cast<int64_t>(axis));
    };
    call.k = padded(call.k);
    call.v = padded(call.v);
    if (call.lengths) call.lengths = e.plus(call.lengths, 1);
    call.causal = false;
    call.left_window = -1;
  }
  call.wants_scores = e.wants(3);
  call.scores_stage = n.int_attr("qk_output", 0) == 1 ? 0 : 3;
  const AttentionResult r = attend(e, call, false);
  e.out(0, r.y);
  if (r.scores) e.out(3, r.scores);
}

}  // namespace
}  // namespace poprt::ops

POPRT_EXPANSION(microsoft_group_query_attention_op, "com.microsoft", "GroupQueryAttention", expand)

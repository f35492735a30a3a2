// Inputs: query (or query, key and value side by side), key?, value?, past_key?, past_value?,
// seqlens_k [B] (total length - 1), total_sequence_length, cos_cache?, sin_cache?, position_ids?,
// attention_bias?, head_sink?, k_scale?, v_scale?, q_norm_weight?, k_norm_weight?. Outputs: output,
// present_key?, present_value?, output_qk?.
//
// Either total_sequence_length is constant, or the past is the whole cache, which then keeps its
// size.
#include <limits>

#include "ops/common/contrib_attention.h"
#include "ops/common/dimension.h"
#include "ops/common/value_range.h"

namespace poprt::ops::microsoft_group_query_attention_op {
namespace {

// Expands the node step by step.
class GroupQueryAttention {
 public:
  explicit GroupQueryAttention(Expansion& expansion) : e_(expansion), n_(expansion.node) {}

  void run() {
    read_attributes();
    read_projections();
    read_lengths();
    if (n_.int_attr("do_rotary", 0)) rotate();
    update_caches();
    if (e_.has(11) || n_.int_attr("smooth_softmax", 0) == 1) add_sink();
    call_.wants_scores = e_.wants(3);
    call_.scores_stage = n_.int_attr("qk_output", 0) == 1 ? 0 : 3;
    const AttentionResult r = attend(e_, call_, false);
    e_.out(0, r.y);
    if (r.scores) e_.out(3, r.scores);
  }

 private:
  void read_attributes() {
    call_.heads = n_.int_attr("num_heads", 0);
    call_.kv_heads = n_.int_attr("kv_num_heads", 0);
    e_.check(call_.heads > 0 && call_.kv_heads > 0 && call_.heads % call_.kv_heads == 0,
             "num_heads must be a multiple of kv_num_heads");
    if (n_.int_attr("sliding_window_cache", 0)) e_.fail_unsupported("sliding_window_cache");
    if (e_.has(12) || e_.has(13) || n_.int_attr("kv_cache_bit_width", 0))
      e_.fail_unsupported("quantised caches of keys and values");
    for (const char* key : {"k_quant_type", "v_quant_type"})
      if (const std::string how = n_.string_attr(key, "NONE"); how != "NONE")
        e_.fail_unsupported("{} '{}', expected NONE", key, how);
    call_.scale = static_cast<double>(n_.float_attr("scale", 0));
    call_.softcap = static_cast<double>(n_.float_attr("softcap", 0));
    call_.causal = n_.int_attr("causal", 1) != 0;
    const int64_t window = n_.int_attr("local_window_size", -1);
    if (window > 0) call_.left_window = window - 1;
  }

  void read_projections() {
    call_.q = e_.in(0);
    call_.k = e_.in_or_null(1);
    call_.v = e_.in_or_null(2);
    e_.check(!call_.k == !call_.v, "key and value must be either both present or both absent");
    if (!call_.k) {
      const Shape s = e_.shape(0);
      e_.check(s.size() == 3 && s[2] % (call_.heads + 2 * call_.kv_heads) == 0,
               "query must contain query, key and value");
      const int64_t width = s[2] / (call_.heads + 2 * call_.kv_heads);
      const int64_t columns = call_.heads * width, kv = call_.kv_heads * width;
      call_.k = e_.slice(call_.q, 2, columns, columns + kv);
      call_.v = e_.slice(call_.q, 2, columns + kv, columns + 2 * kv);
      call_.q = e_.slice(call_.q, 2, 0, columns);
    }
    const Shape q = e_.shape_of(call_.q);
    e_.check(q.size() == 3 && q[2] % call_.heads == 0, "query must be [batch, sequence, hidden]");
    batch_ = q[0];
    tokens_ = q[1];
    head_size_ = q[2] / call_.heads;
    type_ = call_.q->dtype();
    if (e_.has(14)) call_.q = normalised(call_.q, call_.heads, 14);
    if (e_.has(15)) call_.k = normalised(call_.k, call_.kv_heads, 15);
  }

  ir::Value* normalised(ir::Value* x, int64_t heads, size_t weight) {
    ir::Value* y = e_.reshape(x, {batch_, tokens_, heads, head_size_});
    y = e_.add("SimplifiedLayerNormalization", {y, e_.in(weight)},
               {{"epsilon", n_.float_attr("qk_norm_epsilon", 1e-6f)}, {"axis", int64_t{-1}}});
    return e_.reshape(y, {batch_, tokens_, heads * head_size_});
  }

  // Reads the number of keys after this step (total) and before it (start).
  void read_lengths() {
    cache_ = e_.has(3) ? dimension(e_, e_.in(3), 2) : 0;
    const bool known = e_.in(6)->is_constant();
    if (!known && cache_ == 0) e_.const_ints(6);
    total_ = known ? e_.const_ints(6).at(0) : cache_;
    e_.check(total_ >= 0 && total_ < (int64_t{1} << 40), "total_sequence_length is out of range");
    check_places(n_, 5, std::max(cache_, total_), "seqlens_k");
    prompt_ = known && total_ == tokens_;
    lengths_ = e_.plus(e_.cast(e_.reshape(e_.in(5), {batch_}), DType::s64), 1);
    start_ = prompt_ ? e_.constant(Tensor::zeros(DType::s64, {batch_}))
                     : e_.plus(lengths_, -static_cast<double>(tokens_));
  }

  void rotate() {
    ir::Value* positions = e_.has(9) && e_.shape(9) == Shape{batch_, tokens_} && !prompt_
                               ? e_.in(9)
                               : e_.add("Add", {e_.reshape(start_, {batch_, 1}),
                                                e_.reshape(e_.iota(tokens_), {1, tokens_})});
    const auto rotated = [&](ir::Value* x, int64_t heads) {
      const int64_t width = 2 * dimension(e_, e_.in(7), 1);
      return e_.newest("RotaryEmbedding", {x, e_.in(7), e_.in(8), positions},
                       {{"num_heads", heads},
                        {"rotary_embedding_dim", width == head_size_ ? int64_t{0} : width},
                        {"interleaved", n_.int_attr("rotary_interleaved", 0)}});
    };
    call_.q = rotated(call_.q, call_.heads);
    call_.k = rotated(call_.k, call_.kv_heads);
  }

  // The cache after this step: input `past` with the rows of `x` written after its valid rows.
  ir::Value* updated(size_t past, ir::Value* x) {
    const int64_t present = std::max(cache_, total_);
    ir::Value* rows = split_heads(e_, x, call_.kv_heads);
    const int64_t width = dimension(e_, rows, 3);
    if (cache_ == 0 && present == tokens_) return rows;
    ir::Value* buffer = cache_ ? e_.in(past) : nullptr;
    if (present > cache_) {
      ir::Value* zeros =
          e_.expand(e_.number(type_, 0), {batch_, call_.kv_heads, present - cache_, width});
      buffer = buffer ? e_.concat({buffer, zeros}, 2) : zeros;
    }
    return write_cache(e_, buffer, rows, start_);
  }

  void update_caches() {
    ir::Value *k = updated(3, call_.k), *v = updated(4, call_.v);
    e_.out(1, k);
    e_.out(2, v);
    if (!prompt_) {
      call_.lengths = lengths_;
      call_.k = k;
      call_.v = v;
    }
    keys_ = prompt_ ? tokens_ : dimension(e_, k, 2);
    call_.mask = e_.in_or_null(10);
    if (call_.mask && dimension(e_, call_.mask, 3) > keys_)
      call_.mask = e_.slice(call_.mask, 3, 0, keys_);
    if (!call_.causal && prompt_) call_.lengths = lengths_;
  }

  // [B, 1, S, keys]: true where a key is hidden from a query.
  ir::Value* hidden_keys() {
    ir::Value* position = e_.reshape(e_.iota(keys_), {1, 1, 1, keys_});
    ir::Value* query = e_.add("Add", {e_.reshape(start_, {batch_, 1, 1, 1}),
                                      e_.reshape(e_.iota(tokens_), {1, 1, tokens_, 1})});
    ir::Value* hidden =
        call_.causal
            ? e_.add("Greater", {position, query})
            : e_.add("Not", {e_.add("Less", {position, e_.reshape(lengths_, {batch_, 1, 1, 1})})});
    if (call_.left_window < 0) return hidden;
    ir::Value* oldest = e_.plus(query, -static_cast<double>(call_.left_window));
    return e_.add("Or", {hidden, e_.add("Less", {position, oldest})});
  }

  // Prepends a key without a value. Its score is the sink of the head, and masks hide the other
  // keys.
  void add_sink() {
    ir::Value* mask =
        e_.add("Where", {hidden_keys(), e_.number(type_, -std::numeric_limits<double>::infinity()),
                         e_.number(type_, 0)});
    mask = sum_of_masks(e_, mask, widened_bias(e_, call_.mask, keys_));
    Shape wide = {batch_, call_.heads, dimension(e_, mask, 2), keys_};
    mask = e_.expand(mask, wide);
    wide[3] = 1;
    ir::Value* sink =
        e_.has(11) ? e_.reshape(e_.in(11), {1, call_.heads, 1, 1}) : e_.number(type_, 0);
    call_.mask = e_.concat({e_.expand(sink, wide), mask}, 3);
    const auto padded = [&](ir::Value* x) {
      Shape one = e_.shape_of(x);
      const size_t axis = one.size() - 2;
      one[axis] = 1;
      return e_.concat({e_.expand(e_.number(type_, 0), one), x}, static_cast<int64_t>(axis));
    };
    call_.k = padded(call_.k);
    call_.v = padded(call_.v);
    if (call_.lengths) call_.lengths = e_.plus(call_.lengths, 1);
    call_.causal = false;
    call_.left_window = -1;
  }

  Expansion& e_;
  const ir::Node& n_;
  AttentionCall call_;
  DType type_ = DType::undefined;
  int64_t batch_ = 0, tokens_ = 0, head_size_ = 0;
  int64_t cache_ = 0, total_ = 0, keys_ = 0;
  bool prompt_ = false;  // the cache is empty
  ir::Value *lengths_ = nullptr, *start_ = nullptr;
};

void expand(Expansion& e) { GroupQueryAttention(e).run(); }

}  // namespace
}  // namespace poprt::ops::microsoft_group_query_attention_op

POPRT_EXPANSION_WITH_FACTS(microsoft_group_query_attention_op, "com.microsoft",
                           "GroupQueryAttention", expand,
                           .trial = {"T[1,2,4]; T[1,2,4]; T[1,2,4]; _; _; s32[1]; s32[] = 2",
                                     "num_heads = 2, kv_num_heads = 2"})

// Inputs: query (or query, key and value side by side), key?, value?, past_key?, past_value?,
// seqlens_k [B] (total length - 1), total_sequence_length, cos_cache?, sin_cache?, position_ids?,
// attention_bias?, head_sink?, k_scale?, v_scale?, q_norm_weight?, k_norm_weight?. Outputs: output,
// present_key?, present_value?, output_qk?.
//
// If k_quant_type or v_quant_type is not NONE, the caches contain s8, or u8 with two numbers of
// four bits (plus 8, the first in the low bits), which k_scale and v_scale multiply: one number, or
// one for each head and element. New keys and values are quantised before they are read.
//
// With sliding_window_cache the caches have room for C keys of a longer text, and contain its last
// L(T) = T <= C ? T : W + (T - C - 1) mod (C - W + 1) keys, where T is the length of the text and W
// is local_window_size.
//
// Either total_sequence_length is constant, or the past is the whole cache, which then keeps its
// size.
#include <limits>

#include "ops/common/check_index.h"
#include "ops/common/contrib_attention.h"
#include "ops/common/dimension.h"
#include "ops/common/value_range.h"

namespace poprt::ops::microsoft_group_query_attention_op {
namespace {

constexpr int64_t kMostTokens = int64_t{1} << 40;

class GroupQueryAttention {
 public:
  explicit GroupQueryAttention(Expansion& expansion) : e_(expansion), n_(expansion.node) {}

  void run() {
    read_attributes();
    read_projections();
    read_lengths();
    if (n_.int_attr("do_rotary", 0)) rotate();
    slides_ ? slide_caches() : update_caches();
    call_.wants_scores = e_.wants(3);
    const bool before_softmax = n_.int_attr("qk_output", 0) == 1;
    call_.scores_stage = before_softmax ? 2 : 3;
    if (call_.wants_scores && before_softmax) hidden_ = hidden_keys();
    const bool sinks = e_.has(11) || n_.int_attr("smooth_softmax", 0) == 1;
    if (sinks)
      add_sink();
    else if (slides_)
      hide();
    const AttentionResult r = attend(e_, call_, false);
    e_.out(0, r.y);
    if (r.scores) e_.out(3, scores_of_keys(sinks ? e_.slice(r.scores, 3, 1, keys_ + 1) : r.scores));
  }

 private:
  void read_attributes() {
    call_.heads = n_.int_attr("num_heads", 0);
    call_.kv_heads = n_.int_attr("kv_num_heads", 0);
    e_.check(call_.heads > 0 && call_.kv_heads > 0 && call_.heads % call_.kv_heads == 0,
             "num_heads must be a multiple of kv_num_heads");
    slides_ = n_.int_attr("sliding_window_cache", 0) != 0;
    if (slides_) {
      e_.check(n_.int_attr("local_window_size", -1) > 0 && n_.int_attr("causal", 1) != 0,
               "sliding_window_cache requires local_window_size and causal 1");
      if (e_.has(10)) e_.fail_unsupported("attention_bias with sliding_window_cache");
    }
    for (const char* key : {"k_quant_type", "v_quant_type"}) {
      const std::string how = n_.string_attr(key, "NONE");
      if (how != "NONE" && how != "PER_TENSOR" && how != "PER_CHANNEL")
        e_.fail_unsupported("{} '{}', expected NONE, PER_TENSOR or PER_CHANNEL", key, how);
      quantised_ |= how != "NONE";
    }
    if (quantised_) {
      bits_ = n_.int_attr("kv_cache_bit_width", 8);
      if (bits_ != 4 && bits_ != 8) e_.fail_unsupported("kv_cache_bit_width {}", bits_);
      e_.check(e_.has(12) && e_.has(13), "a quantised cache requires k_scale and v_scale");
      e_.check(!e_.has(3) || e_.dtype(3) == stored_type(),
               "a quantised cache must be s8 for 8 bits and u8 for 4 bits");
    }
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
    if (e_.has(14)) call_.q = normalised(call_.q, call_.heads, 14, "q_norm_epsilon");
    if (e_.has(15)) call_.k = normalised(call_.k, call_.kv_heads, 15, "k_norm_epsilon");
  }

  ir::Value* normalised(ir::Value* x, int64_t heads, size_t weight, std::string_view epsilon) {
    ir::Value* y = e_.reshape(x, {batch_, tokens_, heads, head_size_});
    y = e_.add("SimplifiedLayerNormalization", {y, e_.in(weight)},
               {{"epsilon", n_.float_attr(epsilon, n_.float_attr("qk_norm_epsilon", 1e-6f))},
                {"axis", int64_t{-1}}});
    return e_.reshape(y, {batch_, tokens_, heads * head_size_});
  }

  // Sets lengths_ and start_, s64 [B], the number of keys of each text after this step and before
  // it, and total_, the greatest of lengths_ that is possible.
  void read_lengths() {
    cache_ = e_.has(3) ? dimension(e_, e_.in(3), 2) : 0;
    const bool known = e_.in(6)->is_constant();
    if (!known && cache_ == 0) e_.const_ints(6);
    total_ = known ? e_.const_ints(6).at(0) : cache_;
    e_.check(total_ >= 0 && total_ < kMostTokens, "total_sequence_length is out of range");
    // The text in a cache that slides may have any length.
    const int64_t longest = slides_ ? kMostTokens : std::max(cache_, total_);
    check_places(n_, 5, longest, "seqlens_k");
    prompt_ = known && total_ == tokens_;
    ir::Value* last = e_.in(5);
    if (longest > 0) last = checked_index(e_, last, {longest - 1}, calls::Fitting::seqlens_k);
    lengths_ = e_.plus(e_.cast(e_.reshape(last, {batch_}), DType::s64), 1);
    start_ = prompt_ ? e_.constant(Tensor::zeros(DType::s64, {batch_}))
                     : e_.plus(lengths_, -static_cast<double>(tokens_));
  }

  // The positions of the new tokens, [batch, tokens]. Only the first of a prompt's position_ids
  // counts, as in ONNX Runtime: the positions are consecutive from there in every row.
  ir::Value* token_positions() {
    ir::Value* steps = e_.reshape(e_.iota(tokens_), {1, tokens_});
    ir::Value* start = e_.reshape(start_, {batch_, 1});
    if (!e_.has(9)) return e_.add("Add", {start, steps});
    const Shape& ids = e_.shape(9);
    e_.check(ids.size() == 2 && ids[0] == batch_ && ids[1] >= tokens_,
             "position_ids must be [batch, sequence]");
    if (!prompt_) return ids[1] == tokens_ ? e_.in(9) : e_.slice(e_.in(9), 1, 0, tokens_);
    if (element_count(ids) == 0) return e_.add("Add", {start, steps});
    ir::Value* first = e_.slice(e_.slice(e_.in(9), 0, 0, 1), 1, 0, 1);
    return e_.add("Add", {e_.add("Add", {start, first}), steps});
  }

  void rotate() {
    ir::Value* positions = token_positions();
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

  DType stored_type() const { return !quantised_ ? type_ : bits_ == 8 ? DType::s8 : DType::u8; }

  // The scale of keys or values, f32 [] or [1, kv_heads, 1, size].
  ir::Value* scale_of(size_t input, int64_t width) {
    const int64_t count = element_count(e_.shape(input));
    e_.check(count == 1 || count == call_.kv_heads * width,
             "k_scale and v_scale must be one number, or one for each head and element");
    ir::Value* scale = e_.cast(e_.in(input), DType::f32);
    return e_.reshape(scale, count == 1 ? Shape{} : Shape{1, call_.kv_heads, 1, width});
  }

  ir::Value* quantised(ir::Value* rows, size_t scale) {
    const Shape shape = e_.shape_of(rows);
    const auto f32 = [&](double v) { return e_.number(DType::f32, v); };
    ir::Value* x =
        e_.newest("Round", {e_.add("Div", {e_.cast(rows, DType::f32), scale_of(scale, shape[3])})});
    if (bits_ == 8) return e_.cast(e_.newest("Clip", {x, f32(-128), f32(127)}), DType::s8);
    e_.check(shape[3] % 2 == 0, "the head size must be even for a cache of four bits");
    x = e_.cast(e_.plus(e_.newest("Clip", {x, f32(-8), f32(7)}), 8), DType::u8);
    x = e_.reshape(x, {shape[0], shape[1], shape[2], shape[3] / 2, 2});
    ir::Value* high = e_.newest("BitShift", {e_.slice(x, 4, 1, 2), e_.number(DType::u8, 4)},
                                {{"direction", std::string("LEFT")}});
    x = e_.newest("BitwiseOr", {e_.slice(x, 4, 0, 1), high});
    return e_.reshape(x, {shape[0], shape[1], shape[2], shape[3] / 2});
  }

  ir::Value* dequantised(ir::Value* rows, size_t scale) {
    Shape shape = e_.shape_of(rows);
    ir::Value* x = rows;
    if (bits_ == 4) {
      x = e_.reshape(x, {shape[0], shape[1], shape[2], shape[3], 1});
      ir::Value* low = e_.newest("BitwiseAnd", {x, e_.number(DType::u8, 15)});
      ir::Value* high = e_.newest("BitShift", {x, e_.number(DType::u8, 4)},
                                  {{"direction", std::string("RIGHT")}});
      shape[3] *= 2;
      x = e_.reshape(e_.concat({low, high}, 4), shape);
    }
    x = e_.cast(x, DType::f32);
    if (bits_ == 4) x = e_.plus(x, -8);
    return e_.cast(e_.add("Mul", {x, scale_of(scale, shape[3])}), type_);
  }

  // The cache after this step: input `past` with `rows` written after its valid rows.
  ir::Value* updated(size_t past, ir::Value* rows) {
    const int64_t present = std::max(cache_, total_);
    const int64_t width = dimension(e_, rows, 3);
    if (cache_ == 0 && present == tokens_) return rows;
    ir::Value* buffer = cache_ ? e_.in(past) : nullptr;
    if (present > cache_) {
      ir::Value* zeros =
          e_.expand(e_.number(rows->dtype(), 0), {batch_, call_.kv_heads, present - cache_, width});
      buffer = buffer ? e_.concat({buffer, zeros}, 2) : zeros;
    }
    return write_cache(e_, buffer, rows, start_);
  }

  void update_caches() {
    ir::Value* new_k = split_heads(e_, call_.k, call_.kv_heads);
    ir::Value* new_v = split_heads(e_, call_.v, call_.kv_heads);
    if (quantised_) {
      new_k = quantised(new_k, 12);
      new_v = quantised(new_v, 13);
    }
    ir::Value *k = updated(3, new_k), *v = updated(4, new_v);
    e_.out(1, k);
    e_.out(2, v);
    if (!prompt_) call_.lengths = lengths_;
    if (quantised_) {
      call_.k = dequantised(prompt_ ? new_k : k, 12);
      call_.v = dequantised(prompt_ ? new_v : v, 13);
    } else if (!prompt_) {
      call_.k = k;
      call_.v = v;
    }
    keys_ = prompt_ ? tokens_ : dimension(e_, k, 2);
    call_.mask = e_.in_or_null(10);
    if (call_.mask && dimension(e_, call_.mask, 3) > keys_)
      call_.mask = e_.slice(call_.mask, 3, 0, keys_);
    if (!call_.causal && prompt_) call_.lengths = lengths_;
  }

  // The number of keys of a text of `length` tokens in a cache that slides, s64 [B].
  ir::Value* kept(ir::Value* length) {
    const int64_t window = call_.left_window + 1;
    const auto number = [&](int64_t v) { return e_.number(DType::s64, static_cast<double>(v)); };
    ir::Value* rest = e_.add(
        "Mod", {e_.plus(length, -static_cast<double>(cache_ + 1)), number(cache_ - window + 1)});
    return e_.add("Where", {e_.add("Less", {length, number(cache_ + 1)}), length,
                            e_.plus(rest, static_cast<double>(window))});
  }

  // Attends to all keys of the old cache and the new ones, and keeps the last ones.
  void slide_caches() {
    const int64_t window = call_.left_window + 1;
    e_.check(cache_ >= window, "a cache that slides must have room for local_window_size keys");
    ir::Value* new_k = split_heads(e_, call_.k, call_.kv_heads);
    ir::Value* new_v = split_heads(e_, call_.v, call_.kv_heads);
    if (quantised_) {
      new_k = quantised(new_k, 12);
      new_v = quantised(new_v, 13);
    }
    call_.k = e_.concat({e_.in(3), new_k}, 2);
    call_.v = e_.concat({e_.in(4), new_v}, 2);
    keys_ = cache_ + tokens_;
    const auto number = [&](int64_t v) { return e_.number(DType::s64, static_cast<double>(v)); };
    const auto column = [&](ir::Value* v) { return e_.reshape(v, {batch_, 1}); };
    ir::Value *old = kept(start_), *now = kept(lengths_);
    // Positions of the keys; those of free rows are after every query.
    ir::Value* first = column(e_.add("Sub", {start_, old}));
    ir::Value* row = e_.reshape(e_.iota(cache_), {1, cache_});
    ir::Value* in_cache =
        e_.add("Where", {e_.add("Less", {row, column(old)}), e_.add("Add", {first, row}),
                         e_.add("Add", {column(lengths_), row})});
    ir::Value* added = e_.add("Add", {column(start_), e_.reshape(e_.iota(tokens_), {1, tokens_})});
    positions_ = e_.reshape(e_.concat({in_cache, added}, 1), {batch_, 1, 1, keys_});
    ir::Value* wanted = e_.add("Add", {column(e_.add("Sub", {lengths_, now})), row});
    ir::Value* is_new = e_.add("Not", {e_.add("Less", {wanted, column(start_)})});
    ir::Value* from = e_.add(
        "Where",
        {is_new, e_.plus(e_.add("Sub", {wanted, column(start_)}), static_cast<double>(cache_)),
         e_.add("Sub", {wanted, first})});
    from = e_.add("Max", {e_.add("Min", {from, number(keys_ - 1)}), number(0)});
    std::vector<int64_t> begin(static_cast<size_t>(batch_));
    for (int64_t b = 0; b < batch_; b++) begin[static_cast<size_t>(b)] = b * keys_;
    from = e_.add("Add", {from, column(e_.ints(begin))});
    const auto last = [&](ir::Value* v) {
      const Shape s = e_.shape_of(v);
      ir::Value* rows = e_.reshape(e_.transpose(v, {0, 2, 1, 3}), {batch_ * keys_, s[1], s[3]});
      return e_.transpose(e_.add("Gather", {rows, from}), {0, 2, 1, 3});
    };
    e_.out(1, last(call_.k));
    e_.out(2, last(call_.v));
    if (!quantised_) return;
    call_.k = dequantised(call_.k, 12);
    call_.v = dequantised(call_.v, 13);
  }

  // Sets the mask, which replaces the causal rule and the window.
  void hide() {
    const double hidden = -std::numeric_limits<double>::infinity();
    call_.mask = e_.add("Where", {hidden_keys(), e_.number(type_, hidden), e_.number(type_, 0)});
    call_.causal = false;
    call_.left_window = -1;
  }

  // The scores as ONNX Runtime writes them: zero for hidden keys, and without the free places of
  // the cache if their number is known.
  ir::Value* scores_of_keys(ir::Value* scores) {
    if (hidden_) scores = e_.add("Where", {hidden_, e_.number(type_, 0), scores});
    return slides_ || total_ >= keys_ ? scores : e_.slice(scores, 3, 0, total_);
  }

  // [B, 1, S, keys]: true where a key is hidden from a query.
  ir::Value* hidden_keys() {
    if (hidden_) return hidden_;
    ir::Value* position = positions_ ? positions_ : e_.reshape(e_.iota(keys_), {1, 1, 1, keys_});
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

  // Prepends a key of zeros with a value of zeros. The mask adds the sink of the head to its score,
  // and also hides the keys that the causal rule and the window hide.
  void add_sink() {
    ir::Value* mask =
        e_.add("Where", {hidden_keys(), e_.number(type_, -std::numeric_limits<double>::infinity()),
                         e_.number(type_, 0)});
    mask = sum_of_masks(e_, mask, zero_extended_bias(e_, call_.mask, keys_));
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
  bool quantised_ = false;
  bool slides_ = false;
  ir::Value* positions_ = nullptr;  // s64 [B,1,1,keys]: of the keys, if they are not in order
  int64_t bits_ = 8;                // of a number in a quantised cache
  ir::Value *lengths_ = nullptr, *start_ = nullptr;
  ir::Value* hidden_ = nullptr;  // hidden_keys(), if the scores before the softmax are an output
};

void expand(Expansion& e) { GroupQueryAttention(e).run(); }

}  // namespace
}  // namespace poprt::ops::microsoft_group_query_attention_op

POPRT_EXPANSION_WITH_FACTS(microsoft_group_query_attention_op, "com.microsoft",
                           "GroupQueryAttention", expand,
                           .trial = {"T[1,2,4]; T[1,2,4]; T[1,2,4]; _; _; s32[1]; s32[] = 2",
                                     "num_heads = 2, kv_num_heads = 2"})

// Inputs: query [tokens, Hq, dk], key? [tokens, Hq, dk], value? [tokens, Hv, dv] (without key and
// value, query contains all three), cu_seqlens? s32 [B + 1], decay? [tokens, Hv] or [tokens, Hv,
// dk], beta? [tokens, Hv], initial_state? f32 [B, Hv, dv, dk], a_log? [Hv], dt_bias?,
// capture_count?, state_update_active?. Outputs: output [tokens, Hv, dv], final_state?,
// state_update?. Instead of tokens, the inputs may have the axes batch and sequence. The node is
// computed in f32 by LinearAttention.
#include <algorithm>
#include <array>

#include "ops/common/linear_attention.h"
#include "ops/common/sequence_places.h"

namespace poprt::ops::microsoft_gated_delta_net_op {
namespace {

constexpr int64_t kMostUpdates = 8;
constexpr float kLeastNorm = 1e-12f;  // added to the sum of squares of qk_l2_norm

class GatedDeltaNet {
 public:
  explicit GatedDeltaNet(Expansion& expansion) : e_(expansion), n_(expansion.node) {}

  void run() {
    const int64_t capacity = n_.int_attr("state_update_capacity", 0);
    e_.check(capacity >= 0 && capacity <= kMostUpdates && (capacity > 0) == e_.has(9),
             "state_update_capacity must be in 0 to 8, and capture_count present unless it is 0");
    call_.rule = n_.string_attr("update_rule", "gated_delta");
    if (call_.rule != "linear" && !call_.gated() && !call_.delta())
      e_.fail_unsupported("update_rule '{}', expected linear, gated, delta or gated_delta",
                          call_.rule);
    call_.scale = n_.float_attr("scale", 0);
    read_heads();
    read_sequences();
    if (call_.gated()) call_.decay = decay();
    if (call_.delta()) call_.beta = beta();
    if (n_.int_attr("qk_l2_norm", 0)) {
      call_.q = normalised(call_.q);
      call_.k = normalised(call_.k);
    }
    arrange();
    if (e_.wants(2)) e_.out(2, updates(capacity));
    const LinearAttentionResult r = attend_linearly(e_, call_);
    ir::Value* y = e_.reshape(r.y, {batch_ * length_, v_heads_, v_size_});
    if (e_.has(3)) {
      ir::Value* row =
          e_.add("Add", {e_.scaled(places_.sequence, static_cast<double>(length_)), places_.local});
      y = e_.add("Gather", {y, row});
    }
    Shape shape = lead_;
    shape.insert(shape.end(), {v_heads_, v_size_});
    e_.out(0, e_.cast(e_.reshape(y, shape), e_.dtype(0)));
    e_.out(1, e_.transpose(r.state, {0, 1, 3, 2}));
  }

 private:
  // Sets q and k [tokens, heads, dk] and v [tokens, heads, dv], in f32.
  void read_heads() {
    const Shape q = e_.shape(0);
    const auto f32 = [&](size_t i) { return e_.cast(e_.in(i), DType::f32); };
    if (e_.has(1)) {
      const Shape v = e_.shape(2);
      e_.check((q.size() == 3 || q.size() == 4) && e_.shape(1) == q && v.size() == q.size(),
               "query and key must have one shape [tokens, heads, size], and value another size");
      lead_.assign(q.begin(), q.end() - 2);
      heads_ = q[q.size() - 2];
      size_ = q.back();
      v_heads_ = v[v.size() - 2];
      v_size_ = v.back();
      tokens_ = element_count(lead_);
      e_.check(element_count(v) == tokens_ * v_heads_ * v_size_, "value does not fit query");
      call_.q = e_.reshape(f32(0), {tokens_, heads_, size_});
      call_.k = e_.reshape(f32(1), {tokens_, heads_, size_});
      call_.v = e_.reshape(f32(2), {tokens_, v_heads_, v_size_});
    } else {
      e_.check(q.size() >= 2 && e_.has(6) && e_.shape(6).size() == 4,
               "query without key and value requires initial_state [B, heads, dv, dk]");
      const Shape s = e_.shape(6);
      lead_.assign(q.begin(), q.end() - 1);
      tokens_ = element_count(lead_);
      v_heads_ = s[1];
      v_size_ = s[2];
      size_ = s[3];
      const int64_t rest = q.back() - v_heads_ * v_size_;
      e_.check(size_ > 0 && rest > 0 && rest % (2 * size_) == 0,
               "query does not contain query, key and value");
      heads_ = rest / (2 * size_);
      ir::Value* all = e_.reshape(f32(0), {tokens_, q.back()});
      const int64_t width = heads_ * size_;
      call_.q = e_.reshape(e_.slice(all, 1, 0, width), {tokens_, heads_, size_});
      call_.k = e_.reshape(e_.slice(all, 1, width, 2 * width), {tokens_, heads_, size_});
      call_.v = e_.reshape(e_.slice(all, 1, 2 * width, q.back()), {tokens_, v_heads_, v_size_});
    }
    e_.check(heads_ > 0 && tokens_ > 0 && v_heads_ % heads_ == 0,
             "the heads of value must be a multiple of those of query");
  }

  void read_sequences() {
    if (e_.has(3))
      batch_ = element_count(e_.shape(3)) - 1;
    else if (e_.has(6))
      batch_ = e_.shape(6).empty() ? 0 : e_.shape(6)[0];
    else if (lead_.size() == 2)
      batch_ = lead_[0];
    e_.check(batch_ > 0, "cu_seqlens, initial_state or the axis of batches is required");
    if (e_.has(3)) {
      e_.check(lead_.size() == 1, "cu_seqlens requires tokens on one axis");
      length_ = tokens_;
      places_ = sequence_places(e_, e_.in(3), batch_, tokens_);
    } else {
      e_.check(tokens_ % batch_ == 0, "the number of tokens must be a multiple of the batch");
      length_ = tokens_ / batch_;
    }
    if (!e_.has(6)) return;
    e_.check(e_.shape(6) == Shape{batch_, v_heads_, v_size_, size_},
             "initial_state must be [batch, heads, dv, dk]");
    call_.state = e_.transpose(e_.cast(e_.in(6), DType::f32), {0, 1, 3, 2});
  }

  ir::Value* per_head(size_t input) {
    const int64_t count = element_count(e_.shape(input));
    e_.check(count == v_heads_ || count == v_heads_ * size_, "a_log or dt_bias does not fit");
    return e_.reshape(e_.cast(e_.in(input), DType::f32), {1, v_heads_, count / v_heads_});
  }

  // The logarithms of the factors of the state, [tokens, heads, 1 or dk].
  ir::Value* decay() {
    const int64_t count = element_count(e_.shape(4));
    e_.check(count == tokens_ * v_heads_ || count == tokens_ * v_heads_ * size_,
             "decay must be [tokens, heads] or [tokens, heads, dk]");
    ir::Value* x = e_.reshape(e_.cast(e_.in(4), DType::f32),
                              {tokens_, v_heads_, count / (tokens_ * v_heads_)});
    const std::string gate = n_.string_attr("gate_activation", "none");
    if (gate == "none") return x;
    const bool sigmoid = gate == "sigmoid" || gate == "kda";
    if (!sigmoid && gate != "softplus" && gate != "qwen")
      e_.fail_unsupported("gate_activation '{}', expected none, softplus or sigmoid", gate);
    ir::Value *factor = e_.add("Exp", {per_head(7)}), *sum = e_.add("Add", {x, per_head(8)});
    if (!sigmoid) return e_.add("Neg", {e_.add("Mul", {factor, e_.add("Softplus", {sum})})});
    return e_.scaled(e_.add("Sigmoid", {e_.add("Mul", {factor, sum})}),
                     static_cast<double>(n_.float_attr("gate_lower_bound", -5)));
  }

  // The weights of the changes of the state, [tokens, heads, 1].
  ir::Value* beta() {
    e_.check(element_count(e_.shape(5)) == tokens_ * v_heads_, "beta must be [tokens, heads]");
    ir::Value* x = e_.reshape(e_.cast(e_.in(5), DType::f32), {tokens_, v_heads_, 1});
    const std::string activation = n_.string_attr("beta_activation", "none");
    if (activation == "sigmoid") return e_.add("Sigmoid", {x});
    if (activation != "none")
      e_.fail_unsupported("beta_activation '{}', expected none or sigmoid", activation);
    return x;
  }

  ir::Value* normalised(ir::Value* x) {
    ir::Value* squares =
        e_.newest("ReduceSum", {e_.add("Mul", {x, x}), e_.ints({2})}, {{"keepdims", int64_t{1}}});
    ir::Value* norm = e_.add("Sqrt", {e_.plus(squares, static_cast<double>(kLeastNorm))});
    return e_.add("Div", {x, norm});
  }

  // Gives all operands the axes [batch, length, heads * size]. Sequences of different lengths are
  // filled up with tokens that neither change the state nor are read.
  void arrange() {
    const auto rows = [&](ir::Value*& x) {
      if (!x) return;
      const Shape s = e_.shape_of(x);
      if (e_.has(3)) x = first_rows(e_, x, places_, places_.lengths, length_);
      x = e_.reshape(x, {batch_, length_, s[1] * s[2]});
    };
    for (ir::Value** v : {&call_.q, &call_.k, &call_.v, &call_.decay, &call_.beta}) rows(*v);
    call_.heads = call_.kv_heads = v_heads_;
    shared_k_ = call_.k;
    call_.q = repeated_heads(e_, call_.q, heads_, v_heads_ / heads_);
    call_.k = repeated_heads(e_, call_.k, heads_, v_heads_ / heads_);
  }

  // [B, count * width]: the factors exp(decay) of the first tokens of each sequence, then their
  // keys, then the changes of the values. The state after a token is state * factors + key
  // change^T.
  ir::Value* updates(int64_t count) {
    e_.check(count > 0 && e_.shape(9) == Shape{batch_},
             "output state_update requires state_update_capacity and capture_count [batch]");
    const int64_t factors = call_.decay ? e_.shape_of(call_.decay)[2] / v_heads_ : 1;
    const auto f32 = [&](double v) { return e_.number(DType::f32, v); };
    ir::Value* state = call_.state;
    if (!state) state = e_.expand(f32(0), {batch_, v_heads_, size_, v_size_});
    std::array<std::vector<ir::Value*>, 3> parts;
    for (int64_t t = 0; t < std::min(count, length_); t++) {
      const auto at = [&](ir::Value* v, const Shape& shape) {
        return e_.reshape(e_.slice(v, 1, t, t + 1), shape);
      };
      const Shape of_factors = {batch_, v_heads_, factors, 1};
      ir::Value* factor = call_.decay ? e_.add("Exp", {at(call_.decay, of_factors)})
                                      : e_.expand(f32(1), of_factors);
      state = e_.add("Mul", {state, factor});
      ir::Value* key = at(call_.k, {batch_, v_heads_, 1, size_});
      ir::Value* change = at(call_.v, {batch_, v_heads_, 1, v_size_});
      if (call_.beta) {
        change = e_.add("Sub", {change, e_.add("MatMul", {key, state})});
        change = e_.add("Mul", {change, at(call_.beta, {batch_, v_heads_, 1, 1})});
      }
      state = e_.add("Add", {state, e_.add("MatMul", {e_.swap_last_two(key), change})});
      parts[0].push_back(e_.reshape(factor, {batch_, 1, v_heads_ * factors}));
      parts[1].push_back(at(shared_k_, {batch_, 1, heads_ * size_}));
      parts[2].push_back(e_.reshape(change, {batch_, 1, v_heads_ * v_size_}));
    }
    std::vector<ir::Value*> all;
    for (std::vector<ir::Value*>& part : parts) {
      const int64_t width = e_.shape_of(part[0])[2];
      if (count > length_) part.push_back(e_.expand(f32(0), {batch_, count - length_, width}));
      ir::Value* y = e_.add("Where", {is_captured(count), e_.concat(part, 1), f32(0)});
      all.push_back(e_.reshape(y, {batch_, count * width}));
    }
    return e_.concat(all, 1);
  }

  // bool [B, count, 1]: whether the update of a token is an output.
  ir::Value* is_captured(int64_t count) {
    ir::Value* captured = e_.reshape(e_.cast(e_.in(9), DType::s64), {batch_, 1, 1});
    if (e_.has(3))
      captured = e_.add("Min", {captured, e_.reshape(places_.lengths, {batch_, 1, 1})});
    if (e_.has(10)) {
      ir::Value* idle = e_.add("Equal", {e_.reshape(e_.in(10), {}), e_.number(DType::s32, 0)});
      captured = e_.add("Where", {idle, e_.number(DType::s64, 0), captured});
    }
    return e_.add("Less", {e_.reshape(e_.iota(count), {1, count, 1}), captured});
  }

  Expansion& e_;
  const ir::Node& n_;
  LinearAttentionCall call_;
  SequencePlaces places_;
  ir::Value* shared_k_ = nullptr;  // with the heads of queries
  Shape lead_;                     // the axes of tokens
  int64_t tokens_ = 0, heads_ = 0, size_ = 0, v_heads_ = 0, v_size_ = 0;
  int64_t batch_ = 0, length_ = 0;  // number of sequences, and of rows for each
};

void expand(Expansion& e) { GatedDeltaNet(e).run(); }

}  // namespace
}  // namespace poprt::ops::microsoft_gated_delta_net_op

POPRT_EXPANSION_WITH_FACTS(microsoft_gated_delta_net_op, "com.microsoft", "GatedDeltaNet", expand,
                           .trial = {"T[1,2,2,4]; T[1,2,2,4]; T[1,2,2,4]",
                                     R"(update_rule = "linear")", 2})

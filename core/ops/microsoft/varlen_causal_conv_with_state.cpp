// Inputs: input [tokens, C] with several sequences, one after the other; weight [C,1,k];
// cumulative_sequence_length s32 [B + 1]; bias? [C]; initial_state [B,C,P] with P = (k - 1)
// dilation; capture_count? s32 [B]. Outputs: output, final_state, state_update? [B, capacity, C]
// with the first capture_count inputs of each sequence.
#include "ops/common/causal_conv.h"
#include "ops/common/sequence_places.h"

namespace poprt::ops::microsoft_varlen_causal_conv_with_state_op {
namespace {

constexpr int64_t kMostUpdates = 8;

class VarlenConv {
 public:
  explicit VarlenConv(Expansion& expansion) : e_(expansion), conv_(causal_conv_of(expansion)) {}

  void run() {
    const Shape x = e_.shape(0), state = e_.shape(4);
    if (e_.has(6) || e_.has(7)) e_.fail_unsupported("kernel_delta and previous_mask");
    e_.check(x.size() == 2 && x[1] == conv_.channels, "input must be [tokens, channels]");
    e_.check(state.size() == 3 && state[1] == conv_.channels && state[2] == conv_.past,
             "initial_state must be [batch, channels, (k - 1) * dilation]");
    tokens_ = x[0];
    batch_ = state[0];
    e_.check(e_.shape(2) == Shape{batch_ + 1},
             "cumulative_sequence_length must have a number for each sequence, and one more");
    places_ = sequence_places(e_, e_.in(2), batch_, tokens_);
    // The rows of the states of all sequences, followed by the tokens.
    rows_ = e_.concat(
        {e_.reshape(e_.transpose(e_.in(4), {0, 2, 1}), {batch_ * conv_.past, conv_.channels}),
         e_.in(0)},
        0);
    e_.out(0, outputs());
    e_.out(1, final_states());
    if (e_.wants(2)) e_.out(2, updates());
  }

 private:
  // Row `local` of sequence `of`, counted from its first token; negative numbers are in its state.
  ir::Value* place(ir::Value* of, ir::Value* begin, ir::Value* local) {
    ir::Value* in_state =
        e_.add("Add", {e_.add("Mul", {e_.plus(of, 1), number(conv_.past)}), local});
    ir::Value* token =
        e_.plus(e_.add("Add", {begin, local}), static_cast<double>(batch_ * conv_.past));
    return e_.add("Where", {e_.add("Less", {local, number(0)}), in_state, token});
  }

  ir::Value* outputs() {
    ir::Value* sum = nullptr;
    ir::Value* w = e_.reshape(e_.in(1), {conv_.channels, conv_.taps});
    for (int64_t j = 0; j < conv_.taps; j++) {
      ir::Value* local =
          e_.plus(places_.local, -static_cast<double>((conv_.taps - 1 - j) * conv_.dilation));
      ir::Value* x = e_.add("Gather", {rows_, place(places_.sequence, places_.begin, local)});
      ir::Value* product =
          e_.add("Mul", {x, e_.reshape(e_.slice(w, 1, j, j + 1), {1, conv_.channels})});
      sum = sum ? e_.add("Add", {sum, product}) : product;
    }
    if (e_.has(3)) sum = e_.add("Add", {sum, e_.in(3)});
    return activated(e_, conv_, sum);
  }

  ir::Value* final_states() {
    ir::Value* back = e_.reshape(e_.iota(conv_.past, -conv_.past), {1, conv_.past});
    ir::Value* local = e_.add("Add", {e_.reshape(places_.lengths, {batch_, 1}), back});
    ir::Value* all = place(e_.reshape(e_.iota(batch_), {batch_, 1}),
                           e_.reshape(places_.begins, {batch_, 1}), local);
    return e_.transpose(e_.add("Gather", {rows_, all}), {0, 2, 1});
  }

  ir::Value* updates() {
    const int64_t capacity = e_.node.int_attr("state_update_capacity", 0);
    e_.check(capacity > 0 && capacity <= kMostUpdates && e_.has(5) && e_.shape(5) == Shape{batch_},
             "output state_update requires state_update_capacity in 1 to 8 and capture_count "
             "[batch]");
    return first_rows(e_, e_.in(0), places_, e_.in(5), capacity);
  }

  ir::Value* number(int64_t v) { return e_.number(DType::s64, static_cast<double>(v)); }

  Expansion& e_;
  const CausalConv conv_;
  int64_t tokens_ = 0, batch_ = 0;
  SequencePlaces places_;
  ir::Value* rows_ = nullptr;
};

void expand(Expansion& e) { VarlenConv(e).run(); }

}  // namespace
}  // namespace poprt::ops::microsoft_varlen_causal_conv_with_state_op

POPRT_EXPANSION_WITH_FACTS(microsoft_varlen_causal_conv_with_state_op, "com.microsoft",
                           "VarlenCausalConvWithState", expand,
                           .trial = {"T[4,4]; T[4,1,2]; s32[2] = [0, 4]; _; T[1,4,1]", "", 2})

// Inputs: input_ids [tokens] of several texts, one after the other; multipliers, vocab_sizes,
// cumulative_sequence_length s32 [B + 1], past_ids? [B, N - 1], head_offsets?, eos_token_id?,
// segment_ids? s32 [tokens], past_segment_ids? s32 [B, N - 1], capture_count? s32 [B]. Outputs:
// hash_ids [tokens, heads], present_ids?, present_segment_ids?, state_update?.
#include "ops/common/ngram_hash.h"
#include "ops/common/sequence_places.h"

namespace poprt::ops::microsoft_varlen_ngram_hash_mapping_op {
namespace {

constexpr int64_t kMostUpdates = 8;

class VarlenNGrams {
 public:
  explicit VarlenNGrams(Expansion& expansion) : e_(expansion), h_(ngram_hash_of(expansion, 5, 6)) {}

  void run() {
    const Shape ids = e_.shape(0), sums = e_.shape(3);
    e_.check(ids.size() == 1 && ids[0] > 0 && sums.size() == 1 && sums[0] > 1,
             "input_ids and cumulative_sequence_length must have one dimension");
    tokens_ = ids[0];
    batch_ = sums[0] - 1;
    places_ = sequence_places(e_, e_.in(3), batch_, tokens_);
    const Shape past = {batch_, h_.state()};
    for (const size_t i : {4, 8})
      e_.check(!e_.has(i) || e_.shape(i) == past,
               "past_ids and past_segment_ids must be [batch, max_ngram_size - 1]");
    ids_ = rows(e_.has(4) ? e_.in(4) : e_.expand(missing_token(e_, h_), past), e_.in(0));
    AtLag segment;
    if (e_.has(7)) {
      e_.check(e_.shape(7) == ids, "segment_ids must have the shape of input_ids");
      // Without past_segment_ids, there is no boundary in front of the first token.
      ir::Value* first = e_.reshape(e_.add("Gather", {e_.in(7), places_.begins}), {batch_, 1});
      segments_ = rows(e_.has(8) ? e_.in(8) : e_.expand(first, past), e_.in(7));
      segment = at_lag(segments_);
    }
    e_.out(0, ngram_hashes(e_, h_, at_lag(ids_), segment));
    e_.out(1, last_of(ids_));
    if (e_.wants(2)) {
      e_.check(segments_ != nullptr, "output present_segment_ids requires segment_ids");
      e_.out(2, last_of(segments_));
    }
    if (e_.wants(3)) e_.out(3, updates());
  }

 private:
  // The history of all texts, followed by the tokens.
  ir::Value* rows(ir::Value* history, ir::Value* values) {
    return e_.concat({e_.reshape(history, {batch_ * h_.state()}), values}, 0);
  }

  // Place `local` of text `of`; negative places are in the history.
  ir::Value* place(ir::Value* of, ir::Value* begin, ir::Value* local) {
    const auto state = static_cast<double>(h_.state());
    ir::Value* in_history = e_.add("Add", {e_.scaled(e_.plus(of, 1), state), local});
    ir::Value* token = e_.plus(e_.add("Add", {begin, local}), static_cast<double>(batch_) * state);
    return e_.add("Where", {e_.add("Less", {local, e_.number(DType::s64, 0)}), in_history, token});
  }

  AtLag at_lag(ir::Value* from) {
    return [this, from](int64_t lag) {
      ir::Value* local = e_.plus(places_.local, -static_cast<double>(lag));
      return e_.add("Gather", {from, place(places_.sequence, places_.begin, local)});
    };
  }

  // [batch, n, N - 1]: the N - 1 places of each text from each of `first` [batch, n] on.
  ir::Value* state_from(ir::Value* from, ir::Value* first) {
    const int64_t n = e_.shape_of(first)[1], state = h_.state();
    ir::Value* local = e_.add("Add", {e_.reshape(first, {e_.shape_of(first)[0], n, 1}),
                                      e_.reshape(e_.iota(state), {1, 1, state})});
    const Shape one = {batch_, 1, 1};
    return e_.add("Gather", {from, place(e_.reshape(e_.iota(batch_), one),
                                         e_.reshape(places_.begins, one), local)});
  }

  ir::Value* last_of(ir::Value* from) {
    ir::Value* first =
        e_.reshape(e_.plus(places_.lengths, -static_cast<double>(h_.state())), {batch_, 1});
    return e_.reshape(state_from(from, first), {batch_, h_.state()});
  }

  // The histories after each of the first tokens.
  ir::Value* updates() {
    const int64_t count = e_.node.int_attr("state_update_capacity", 0);
    e_.check(count > 0 && count <= kMostUpdates && e_.has(9) && e_.shape(9) == Shape{batch_},
             "output state_update requires state_update_capacity in 1 to 8 and capture_count "
             "[batch]");
    ir::Value* last = e_.add("Min", {e_.reshape(e_.iota(count), {1, count}),
                                     e_.reshape(e_.plus(places_.lengths, -1), {batch_, 1})});
    ir::Value* states = state_from(ids_, e_.plus(last, static_cast<double>(1 - h_.state())));
    ir::Value* most = e_.add("Min", {e_.cast(e_.in(9), DType::s64), places_.lengths});
    ir::Value* real = e_.add(
        "Less", {e_.reshape(e_.iota(count), {1, count, 1}), e_.reshape(most, {batch_, 1, 1})});
    ir::Value* pad = e_.cast(e_.constant(Tensor::scalar(h_.pad)), e_.dtype(0));
    return e_.add("Where", {real, states, pad});
  }

  Expansion& e_;
  const NGramHash h_;
  int64_t tokens_ = 0, batch_ = 0;
  SequencePlaces places_;
  ir::Value *ids_ = nullptr, *segments_ = nullptr;
};

void expand(Expansion& e) { VarlenNGrams(e).run(); }

}  // namespace
}  // namespace poprt::ops::microsoft_varlen_ngram_hash_mapping_op

POPRT_EXPANSION_WITH_FACTS(microsoft_varlen_ngram_hash_mapping_op, "com.microsoft",
                           "VarlenNGramHashMapping", expand,
                           .trial = {"T[4]; T[2]; T[1]; s32[2] = [0, 4]",
                                     "max_ngram_size = 2, n_head_per_ngram = 1, pad_id = 0"})

// Computes the scores of the next token from the logits of a round. Beams use the log softmax. Then
// forbidden and penalised tokens are adjusted, in the order of ONNX Runtime.
#include <algorithm>
#include <limits>

#include "ops/common/token_search.h"

namespace poprt::ops {

TokenSearch::Value* TokenSearch::scores_of(Value* logits) {
  const int64_t tokens = logits->shape()[1], all = logits->shape()[2];
  const int64_t wanted = node_.int_attr("vocab_size", -1);
  vocabulary_ = wanted > 0 ? wanted : all;
  const int64_t expected = length_ == prompt_ ? batch_ : rows();
  if (logits->shape()[0] != expected || vocabulary_ > all || 2 * beams_ > beams_ * vocabulary_)
    fail_here(ErrorCode::invalid_argument, "the logits are {}, expected {} rows and {} tokens",
              ir::type_string(logits->type), expected, vocabulary_);
  if (length_ == prompt_) read_masks();
  Value* last = slice(slice(logits, 1, tokens - 1, tokens), 2, 0, vocabulary_);
  Value* scores = cast(build_.reshape(last, {expected, vocabulary_}), DType::f32);
  if (length_ == prompt_ && wants(4)) silence_ = silence_of(scores);
  if (is_beam()) scores = op("LogSoftmax", {scores}, {{"axis", int64_t{1}}});
  if (repetition_penalty_) scores = penalize_repetition(scores);
  scores = forbid_repeated_ngrams(scores);
  if (forbidden_) scores = forbid(scores, forbidden_);
  if (forbidden_first_ && length_ == prompt_) scores = forbid(scores, forbidden_first_);
  if (min_length_) scores = forbid_short(scores);
  const float temperature = node_.float_attr("temperature", 1);
  if (!is_beam() && temperature > 0 && temperature != 1)
    scores = op("Div", {scores, number(temperature)});
  if (temperature_) scores = op("Div", {scores, temperature_});
  if (presence_) scores = op("Sub", {scores, presence_});
  return scores;
}

// The probability of the token that states that there is no speech.
TokenSearch::Value* TokenSearch::silence_of(Value* logits) {
  const int64_t id = node_.int_attr("no_speech_token_id", -1);
  if (id < 0 || id >= vocabulary_)
    fail_here(ErrorCode::invalid_argument, "no_speech_token_id is {}, expected 0 to {}", id,
              vocabulary_ - 1);
  Value* all = op("Softmax", {logits}, {{"axis", int64_t{1}}});
  return build_.reshape(slice(all, 1, id, id + 1), {batch_});
}

TokenSearch::Value* TokenSearch::zero_in(Value* mask) { return op("Equal", {mask, token(0)}); }

TokenSearch::Value* TokenSearch::forbid(Value* scores, Value* forbidden) {
  return op("Where", {forbidden, number(std::numeric_limits<float>::lowest()), scores});
}

// Penalises tokens that the text already contains.
TokenSearch::Value* TokenSearch::penalize_repetition(Value* scores) {
  const Attributes along = {{"axis", int64_t{1}}};
  Value* had = op("GatherElements", {scores, texts_}, along);
  Value* less = op("Where", {op("Less", {had, number(0)}), op("Mul", {had, repetition_penalty_}),
                             op("Div", {had, repetition_penalty_})});
  return op("ScatterElements", {scores, texts_, less}, along);
}

// Forbids tokens that would repeat a run of n tokens of the text.
TokenSearch::Value* TokenSearch::forbid_repeated_ngrams(Value* scores) {
  const int64_t n = node_.int_attr("no_repeat_ngram_size", 0);
  if (n <= 0 || n > length_) return scores;
  const int64_t runs = length_ - n + 1, rows = texts_->shape()[0];
  Value* same = nullptr;  // whether the place matches the last n - 1 tokens
  for (int64_t k = 0; k < n - 1; k++) {
    Value* equal =
        op("Equal", {slice(texts_, 1, k, k + runs), slice(texts_, 1, runs + k, runs + k + 1)});
    same = same ? op("And", {same, equal}) : equal;
  }
  Value* ends = slice(texts_, 1, n - 1, length_);
  // Other places select an additional column after the vocabulary.
  if (same) ends = op("Where", {same, ends, token(vocabulary_)});
  Value* hit = op("ScatterElements",
                  {filled(DType::boolean, {rows, vocabulary_ + 1}, 0), ends,
                   filled(DType::boolean, {rows, runs}, 1)},
                  {{"axis", int64_t{1}}});
  return forbid(scores, slice(hit, 1, 0, vocabulary_));
}

// Forbids the end token while the text is shorter than min_length.
TokenSearch::Value* TokenSearch::forbid_short(Value* scores) {
  if (eos_ >= vocabulary_) return scores;
  Tensor end = Tensor::zeros(DType::boolean, {1, vocabulary_});
  end.mutable_values<bool>()[static_cast<size_t>(eos_)] = true;
  Value* is_end = build_.constant(end);
  if (!min_length_->is_constant())
    return forbid(scores, op("And", {is_end, op("Greater", {min_length_, integer(length_)})}));
  return length_ < min_length_->constant().to_int64s()[0] ? forbid(scores, is_end) : scores;
}

}  // namespace poprt::ops

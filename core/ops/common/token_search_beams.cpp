// BeamSearch follows the num_beams most likely continuations of each text. A continuation that ends
// becomes a hypothesis, whose score is its log probability divided by length^length_penalty. A text
// is done when it has num_beams hypotheses and no beam can become better than the worst (or
// immediately, with early_stopping).
#include <algorithm>
#include <limits>

#include "ops/common/token_search.h"

namespace poprt::ops {

namespace {

constexpr float kNoScore = -std::numeric_limits<float>::infinity();  // no hypothesis yet
// The score of all beams but the first before round 0. It disables them, because they are equal.
constexpr float kUnlikely = -1e9F;

}  // namespace

void TokenSearch::start_beams() {
  Tensor first = Tensor::zeros(DType::f32, {batch_, beams_});
  for (size_t i = 0; i < first.mutable_values<float>().size(); i++)
    first.mutable_values<float>()[i] = i % static_cast<size_t>(beams_) ? kUnlikely : 0;
  beam_scores_ = build_.constant(first);
  Tensor none = Tensor::zeros(DType::f32, {batch_, beams_});
  std::ranges::fill(none.mutable_values<float>(), kNoScore);
  hypothesis_scores_ = build_.constant(none);
  hypotheses_ = filled(DType::s32, {batch_, beams_, max_length_}, pad_);
  hypothesis_counts_ = filled(DType::f32, {batch_, 1}, 0);
}

// Divides by the length penalty of texts of length_ tokens.
TokenSearch::Value* TokenSearch::by_length(Value* scores) {
  if (!length_penalty_) return scores;
  return op("Div", {scores, op("Pow", {number(static_cast<double>(length_)), length_penalty_})});
}

// The rows of texts_ and caches_ that belong to beams [B, count].
TokenSearch::Value* TokenSearch::rows_of(Value* beams, int64_t count) {
  const bool first = length_ == prompt_;  // all beams of a text share one row
  Tensor t = Tensor::zeros(DType::s64, {batch_, first ? count : 1});
  const int64_t columns = t.shape()[1];
  for (int64_t i = 0; i < batch_ * columns; i++)
    t.mutable_values<int64_t>()[static_cast<size_t>(i)] = i / columns * (first ? 1 : beams_);
  Value* begin = build_.constant(t);
  return first ? begin : op("Add", {beams, begin});
}

// Pads [rows..., length_] to [rows..., max_length].
TokenSearch::Value* TokenSearch::padded_texts(Value* texts, Shape rows) {
  if (length_ == max_length_) return texts;
  const auto axis = static_cast<int64_t>(rows.size());
  rows.push_back(max_length_ - length_);
  return concat({texts, filled(DType::s32, std::move(rows), pad_)}, axis);
}

// Keeps the best num_beams of the old and the new hypotheses; of equal ones the old ones.
void TokenSearch::add_hypotheses(const Candidates& candidates) {
  Tensor none = Tensor::zeros(DType::f32, {1, 1});
  none.mutable_values<float>()[0] = kNoScore;
  // A hypothesis with probability 0 still counts as one.
  Value* scores = op("Max", {candidates.scores, number(std::numeric_limits<float>::lowest())});
  scores = op("Where", {candidates.valid, scores, build_.constant(none)});
  const auto [best, from] = top(concat({hypothesis_scores_, scores}, 1), beams_, true);
  Value* texts = concat({hypotheses_, candidates.texts}, 1);
  Value* row = op("Add", {from, series({batch_, 1}, 0, 2 * beams_)});
  hypothesis_scores_ = best;
  hypotheses_ = op("Gather", {build_.reshape(texts, {batch_ * 2 * beams_, max_length_}), row},
                   {{"axis", int64_t{0}}});
  Value* added = reduce("ReduceSum", cast(candidates.valid, DType::f32), 1, true);
  hypothesis_counts_ =
      op("Min", {op("Add", {hypothesis_counts_, added}), number(static_cast<double>(beams_))});
}

// bool [B, 1]: whether no beam can become better than the worst hypothesis. ONNX Runtime reads the
// 2K scores from index b K on for text b. The scores are [B, 2K], so they belong to text b for the
// first text only. This code does the same.
TokenSearch::Value* TokenSearch::cannot_improve(Value* top_scores) {
  Tensor window = Tensor::zeros(DType::s64, {batch_, 2 * beams_});
  for (int64_t i = 0; i < window.count(); i++)
    window.mutable_values<int64_t>()[static_cast<size_t>(i)] =
        i / (2 * beams_) * beams_ + i % (2 * beams_);
  if (batch_ > 1)
    top_scores =
        op("Gather", {build_.reshape(top_scores, {batch_ * 2 * beams_}), build_.constant(window)},
           {{"axis", int64_t{0}}});
  Value* best = by_length(reduce("ReduceMax", top_scores, 1, true));
  return op("Not", {op("Less", {slice(hypothesis_scores_, 1, beams_ - 1, beams_), best})});
}

void TokenSearch::choose_beams(Value* scores) {
  const bool first = length_ == prompt_;
  const int64_t k = beams_;
  scores = op("Add", {build_.reshape(scores, {batch_, first ? 1 : k, vocabulary_}),
                      build_.reshape(beam_scores_, {batch_, k, 1})});
  if (wants(2)) all_scores_.push_back(build_.reshape(scores, {1, batch_, k, vocabulary_}));
  const auto [best, places] = top(build_.reshape(scores, {batch_, k * vocabulary_}), 2 * k, true);
  Value* tokens = op("Mod", {places, integer(vocabulary_)});
  Value* beams = op("Div", {places, integer(vocabulary_)});
  Value* ends = op("Equal", {tokens, integer(eos_)});

  // Among the first K candidates, those that end are hypotheses.
  Value* texts = op("Gather", {texts_, rows_of(slice(beams, 1, 0, k), k)}, {{"axis", int64_t{0}}});
  add_hypotheses({by_length(slice(best, 1, 0, k)),
                  op("And", {slice(ends, 1, 0, k), op("Not", {done_})}),
                  padded_texts(texts, {batch_, k})});

  // The first K candidates that do not end continue.
  Value* order = op("Where", {ends, series({1, 2 * k}, 2 * k, 1), series({1, 2 * k}, 0, 1)});
  Value* chosen = top(order, k, false).second;
  const Attributes along = {{"axis", int64_t{1}}};
  beam_scores_ = op("GatherElements", {best, chosen}, along);
  tokens_ =
      build_.reshape(cast(op("GatherElements", {tokens, chosen}, along), DType::s32), {rows(), 1});
  Value* row = build_.reshape(rows_of(op("GatherElements", {beams, chosen}, along), k), {rows()});
  const bool move = k > 1;  // with one beam nothing moves
  if (move) texts_ = op("Gather", {texts_, row}, {{"axis", int64_t{0}}});
  texts_ = concat({texts_, tokens_}, 1);
  if (move && length_ + 1 < max_length_)
    for (Value*& v : caches_) v = op("Gather", {v, row}, {{"axis", int64_t{is_t5() ? 0 : 1}}});

  Value* full = op("Not", {op("Less", {hypothesis_counts_, number(static_cast<double>(k))})});
  if (node_.int_attr("early_stopping", 0) != 1) full = op("And", {full, cannot_improve(best)});
  done_ = op("Or", {done_, full});
}

// Beams of texts that are not done become hypotheses with their current tokens.
void TokenSearch::end_beams() {
  const Shape open_shape = {batch_, beams_};
  Tensor all = Tensor::zeros(DType::boolean, open_shape);
  std::ranges::fill(all.mutable_values<bool>(), true);
  add_hypotheses({by_length(beam_scores_), op("And", {op("Not", {done_}), build_.constant(all)}),
                  build_.reshape(texts_, {batch_, beams_, max_length_})});
}

}  // namespace poprt::ops

// The inputs and outputs of the subgraphs of a search.
//
// GPT (model_type 0): decoder and, optionally, init_decoder for round 0:
//
//   input_ids [rows, tokens], position_ids [rows, tokens], attention_mask [rows, past + tokens],
//   past_i [2, rows, heads, past, size] -> logits, present_i
//
// T5, BART (model_type 1): encoder, which runs once and has either form:
//
//   encoder_input_ids, encoder_attention_mask [rows, S], decoder_input_ids [rows, 1]
//     -> logits, encoder_hidden_states, key and value of self attention, of cross attention
//   encoder_input_ids, encoder_attention_mask -> key and value of cross attention
//
// and decoder:
//
//   input_ids [rows, 1] (or all tokens), encoder_attention_mask, encoder_hidden_states?,
//   key and value of self attention, of cross attention -> logits, key and value of self attention
//
// Whisper (model_type 2): encoder and decoder
//
//   encoder_input_ids (floats), decoder_input_ids
//     -> logits, encoder_hidden_states, key and value of self attention, of cross attention
//
//   input_ids [rows, 1] (or all tokens), encoder_hidden_states?,
//   key and value of self attention, of cross attention -> logits, key and value of self attention
#include <algorithm>

#include "ops/common/token_search.h"

namespace poprt::ops {

using ir::Graph;

namespace {

constexpr size_t kGptInputs = 3;   // before the caches
constexpr size_t kT5Inputs = 2;    // before the hidden states and caches
constexpr size_t kCacheParts = 2;  // key and value

// Inputs are recognised by type. Names are not reliable, because an input of a subgraph with the
// name of an outer value is renamed.
bool takes_integers(const Graph& graph, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (i >= graph.inputs().size() || graph.inputs()[i]->dtype() != DType::s32) return false;
  return true;
}

}  // namespace

void TokenSearch::open_subgraphs() {
  const int64_t type = node_.int_attr("model_type", 0);
  const bool only_whisper = node_.op_type == "WhisperBeamSearch";
  if (is_beam() ? type < (only_whisper ? 2 : 0) || type > 2 : type != 0)
    fail_here(ErrorCode::unimplemented, "model_type is {}, expected {}", type,
              only_whisper ? "2 (Whisper)"
              : is_beam()  ? "0 (GPT), 1 (encoder and decoder) or 2 (Whisper)"
                           : "0 (GPT)");
  const auto open = [&](std::string_view key) {
    Body body{subgraph(node_, key), {}};
    body.made = ctx_.run_invariant(*body.graph);
    return body;
  };
  decoder_ = open("decoder");
  if (type == 1) {
    encoder_ = open("encoder");
    return check_t5();
  }
  if (type == 2) {
    encoder_ = open("encoder");
    return check_whisper();
  }
  check_gpt(decoder_);
  if (!node_.find_attr("init_decoder")) return;
  first_decoder_ = open("init_decoder");
  check_gpt(first_decoder_);
}

void TokenSearch::refuse_subgraph(const Body& body, std::string_view expected) const {
  std::string names;
  for (const Value* v : body.graph->inputs())
    names += (names.empty() ? "" : ", ") + ir::type_string(v->type) + " " + v->name();
  fail_here(ErrorCode::unimplemented, "subgraph '{}' has {} outputs and the inputs {}; expected {}",
            body.graph->name, body.graph->outputs().size(), names, expected);
}

void TokenSearch::check_gpt(const Body& body) const {
  const Graph& g = *body.graph;
  const size_t caches = g.outputs().empty() ? 0 : g.outputs().size() - 1;
  if (caches == 0 || g.inputs().size() != kGptInputs + caches || !takes_integers(g, kGptInputs))
    refuse_subgraph(body,
                    "input_ids, position_ids, attention_mask, past_0 ... and as many caches "
                    "as results after the logits");
}

void TokenSearch::check_t5() {
  const size_t encoded = encoder_.graph->inputs().size();
  const size_t results = encoder_.graph->outputs().size();
  if ((encoded != 2 && encoded != 3) || results < kCacheParts ||
      !takes_integers(*encoder_.graph, encoded))
    refuse_subgraph(encoder_,
                    "encoder_input_ids, encoder_attention_mask and, with logits among its "
                    "outputs, decoder_input_ids");
  // The decoder reads all results of the encoder except the logits; it may omit the hidden states.
  const Graph& g = *decoder_.graph;
  const size_t own = g.outputs().empty() ? 0 : g.outputs().size() - 1;
  const size_t caches = encoded == 2 ? own + results : results - 2;
  reads_hidden_states_ = encoded == 3 && g.inputs().size() == kT5Inputs + 1 + caches;
  if (own == 0 || caches <= own || !takes_integers(g, kT5Inputs) ||
      g.inputs().size() != kT5Inputs + reads_hidden_states_ + caches)
    refuse_subgraph(decoder_,
                    "input_ids, encoder_attention_mask, optionally encoder_hidden_states, and "
                    "the caches that the encoder computes");
}

void TokenSearch::check_whisper() {
  const Graph &e = *encoder_.graph, &d = *decoder_.graph;
  const size_t own = d.outputs().empty() ? 0 : d.outputs().size() - 1;
  const size_t results = e.outputs().size();
  if (e.inputs().size() != 2 || e.inputs()[1]->dtype() != DType::s32 || results <= own + 2)
    refuse_subgraph(encoder_,
                    "encoder_input_ids and decoder_input_ids, and as results the logits, "
                    "encoder_hidden_states and the caches");
  const size_t caches = results - 2;
  reads_hidden_states_ = d.inputs().size() == 2 + caches;
  if (own == 0 || !takes_integers(d, 1) || d.inputs().size() != 1 + reads_hidden_states_ + caches)
    refuse_subgraph(decoder_,
                    "input_ids, optionally encoder_hidden_states, and the caches that the encoder "
                    "computes");
}

std::vector<TokenSearch::Value*> TokenSearch::call(const Body& body,
                                                   const std::vector<Value*>& inputs) {
  Items items;
  for (Value* v : inputs) items.push_back(Item::of(v));
  std::vector<Value*> results;
  for (const Item& item : actual_of(ctx_.run_body(*body.graph, items, body.made)))
    results.push_back(ctx_.static_tensor(item, "a result of the subgraph"));
  return results;
}

// The results after the logits become caches_.
TokenSearch::Value* TokenSearch::take_logits(const Body& body, std::vector<Value*> results) {
  Value* logits = results[0];
  if (logits->shape().size() != 3 || logits->shape()[1] < 1 || !is_float(logits->dtype()))
    refuse_subgraph(body, "logits of three dimensions as the first result");
  caches_.assign(results.begin() + 1, results.end());
  return logits;
}

TokenSearch::Value* TokenSearch::empty_cache(const Body& body, size_t i, int64_t rows) const {
  const ir::ValueType& type = body.graph->inputs()[i]->type;
  Shape shape = type.shape;
  const size_t rank = is_t5() ? 4 : 5;  // GPT has an axis for key and value in front of the rows
  if (type.has_shape && shape.size() == rank) {
    shape[rank - 4] = rows;
    shape[rank - 2] = 0;
    if (!is_t5()) shape[0] = kCacheParts;
  }
  if (shape.size() != rank || !is_static(shape) || !is_float(type.dtype))
    refuse_subgraph(body, "caches whose heads and head size are known");
  return build_.constant(Tensor::zeros(type.dtype, shape));
}

TokenSearch::Value* TokenSearch::first_logits() {
  if (is_whisper()) return first_whisper();
  return is_t5() ? first_t5() : first_gpt();
}

TokenSearch::Value* TokenSearch::next_logits(int64_t t) {
  return is_t5() ? next_t5() : next_gpt(t);
}

TokenSearch::Value* TokenSearch::first_gpt() {
  texts_ = input(places_.input_ids);
  Value* real = cast(op("Not", {op("Equal", {texts_, token(pad_)})}), DType::s32);
  mask_ = optional_input(places_.attention_mask, "attention_mask", {batch_, prompt_});
  if (!mask_) mask_ = real;
  // Padding has position 0, independent of the mask.
  Value* before = op("CumSum", {real, integer(1)}, {{"exclusive", int64_t{1}}});
  positions_ = reduce("ReduceSum", real, 1, true);  // position of the next token
  const Body& body = first_decoder_.graph ? first_decoder_ : decoder_;
  std::vector<Value*> feeds = {texts_, op("Mul", {before, real}), mask_};
  for (size_t i = kGptInputs; i < body.graph->inputs().size(); i++)
    feeds.push_back(empty_cache(body, i, batch_));
  Value* logits = take_logits(body, call(body, feeds));
  spread_over_beams();
  return logits;
}

TokenSearch::Value* TokenSearch::next_gpt(int64_t t) {
  std::vector<Value*> feeds = {tokens_, op("Add", {positions_, token(t - 1)}),
                               concat({mask_, filled(DType::s32, {rows(), t}, 1)}, 1)};
  feeds.insert(feeds.end(), caches_.begin(), caches_.end());
  return take_logits(decoder_, call(decoder_, feeds));
}

TokenSearch::Value* TokenSearch::first_tokens() {
  if (is_whisper() && input(places_.decoder_input_ids))
    return optional_input(places_.decoder_input_ids, "decoder_input_ids", {batch_, prompt_});
  const int64_t first = node_.int_attr("decoder_start_token_id", -1);
  if (first < 0 || first > INT32_MAX)
    fail_here(ErrorCode::invalid_argument, "decoder_start_token_id is {}", first);
  return filled(DType::s32, {batch_, 1}, first);
}

TokenSearch::Value* TokenSearch::first_whisper() {
  texts_ = first_tokens();
  std::vector<Value*> encoded = call(encoder_, {input(places_.input_ids), texts_});
  const size_t own = decoder_.graph->outputs().size() - 1;
  if (reads_hidden_states_) fixed_.push_back(encoded[1]);
  fixed_.insert(fixed_.end(), encoded.begin() + 2 + static_cast<ptrdiff_t>(own), encoded.end());
  encoded.resize(2 + own);
  encoded.erase(encoded.begin() + 1);
  Value* logits = take_logits(encoder_, encoded);
  spread_over_beams();
  return logits;
}

TokenSearch::Value* TokenSearch::first_t5() {
  Value* ids = input(places_.input_ids);
  mask_ = optional_input(places_.attention_mask, "attention_mask", ids->shape());
  if (!mask_) {
    // Only padding on the left counts, because a text may end with the token that is also the
    // padding.
    Value* real = cast(op("Not", {op("Equal", {ids, token(pad_)})}), DType::s32);
    mask_ = cast(op("Greater", {op("CumSum", {real, integer(1)}), token(0)}), DType::s32);
  }
  texts_ = first_tokens();
  const bool starts = encoder_.graph->inputs().size() == 3;
  std::vector<Value*> feeds = {ids, mask_};
  if (starts) feeds.push_back(texts_);
  std::vector<Value*> encoded = call(encoder_, feeds);
  const size_t own = decoder_.graph->outputs().size() - 1;
  Value* logits = nullptr;
  if (starts) {
    if (reads_hidden_states_) fixed_.push_back(encoded[1]);
    fixed_.insert(fixed_.end(), encoded.begin() + 2 + static_cast<ptrdiff_t>(own), encoded.end());
    encoded.resize(2 + own);
    encoded.erase(encoded.begin() + 1);
    logits = take_logits(encoder_, encoded);
  } else {
    fixed_ = encoded;
    tokens_ = texts_;
    for (size_t i = 0; i < own; i++)
      caches_.push_back(empty_cache(decoder_, kT5Inputs + i, batch_));
    logits = next_t5();
  }
  spread_over_beams();
  return logits;
}

TokenSearch::Value* TokenSearch::next_t5() {
  const ir::ValueType& ids = decoder_.graph->inputs()[0]->type;
  const bool one = ids.has_shape && ids.shape.size() == 2 && ids.shape[1] == 1;
  std::vector<Value*> feeds = {one ? tokens_ : texts_};
  if (mask_) feeds.push_back(mask_);
  if (reads_hidden_states_) feeds.push_back(fixed_[0]);
  feeds.insert(feeds.end(), caches_.begin(), caches_.end());
  feeds.insert(feeds.end(), fixed_.begin() + reads_hidden_states_, fixed_.end());
  return take_logits(decoder_, call(decoder_, feeds));
}

TokenSearch::Value* TokenSearch::per_beam(Value* v, int64_t axis) {
  if (!v || beams_ == 1) return v;
  std::vector<int64_t> row(static_cast<size_t>(rows()));
  for (size_t i = 0; i < row.size(); i++) row[i] = static_cast<int64_t>(i) / beams_;
  return op("Gather", {v, build_.integers(row)}, {{"axis", axis}});
}

void TokenSearch::spread_over_beams() {
  mask_ = per_beam(mask_, 0);
  positions_ = per_beam(positions_, 0);
  for (Value*& v : fixed_) v = per_beam(v, 0);
}

}  // namespace poprt::ops

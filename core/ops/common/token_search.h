// BeamSearch, WhisperBeamSearch, GreedySearch and Sampling of com.microsoft: texts generated token
// by token by a decoder, which is a subgraph of the node.
//
// The decoder sees a longer past in every round. Shapes are static, so the rounds are unrolled:
// round t of a prompt of S tokens has a past of S + t - 1, exactly as the model was exported. All
// rounds read the same weights, and the part of the decoder that does not depend on its inputs is
// computed once. From the second on, a round is a branch that runs only while some row is not done:
//
//   round 0                            the prompt
//   if not done: round 1               one more token; the caches are longer by one
//   if not done: round 2 ...
//
// Values that are not read after all rows are done (caches, unfinished texts of beams) are
// poprt.Unspecified in the other branch, so that passing them from round to round copies nothing.
//
//   token_search.cpp          parameters, rounds, results
//   token_search_decoder.cpp  the inputs of the subgraphs
//   token_search_scores.cpp   from logits to the scores of the next token
//   token_search_beams.cpp    BeamSearch's choice among them
//   token_search_tokens.cpp   the choice of GreedySearch and Sampling
//
// docs/decisions/text-generation.md describes how the results differ from those of ONNX Runtime.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/common/search.h"
#include "ops/resolve.h"

namespace poprt::ops {

class TokenSearch {
 public:
  explicit TokenSearch(ResolveContext& ctx);
  void run();

 private:
  using Value = ir::Value;
  using Attributes = FoldingBuilder::Attributes;
  using Place = SearchInputs::Place;

  // A subgraph, and the nodes of it that are already computed.
  struct Body {
    std::shared_ptr<ir::Graph> graph;
    NodeSet made;
  };

  // -- token_search.cpp ------------------------------------------------------------------------
  int64_t size_input(Place place, std::string_view name, int64_t fallback) const;
  int64_t token_attribute(std::string_view name) const;
  // An input of one element as an f32 or s64 scalar; null if it is omitted.
  Value* scalar(Place place, std::string_view name, DType dtype);
  // An s32 input of the given shape; null if it is omitted.
  Value* optional_input(Place place, std::string_view name, const Shape& shape);
  void read_masks();
  void start();
  void round(int64_t t);
  void unless_done(const std::function<void()>& body);
  Value* all_done();
  Value* unspecified(const ir::ValueType& type);
  void set_results();

  // -- token_search_decoder.cpp ----------------------------------------------------------------
  void open_subgraphs();
  void check_gpt(const Body& body) const;
  void check_t5();
  void check_whisper();
  [[noreturn]] void refuse_subgraph(const Body& body, std::string_view expected) const;
  // Runs the decoder. Returns logits [rows, tokens, V] and sets caches_ to the new caches.
  Value* first_logits();
  Value* next_logits(int64_t t);
  Value* first_gpt();
  Value* next_gpt(int64_t t);
  Value* first_t5();
  Value* next_t5();
  Value* first_whisper();
  std::vector<Value*> call(const Body& body, const std::vector<Value*>& inputs);
  Value* take_logits(const Body& body, std::vector<Value*> results);
  Value* empty_cache(const Body& body, size_t input, int64_t rows) const;
  // Repeats for all beams the values that stay the same after round 0.
  void spread_over_beams();
  Value* per_beam(Value* v, int64_t axis);

  // -- token_search_scores.cpp -----------------------------------------------------------------
  Value* scores_of(Value* logits);
  Value* penalize_repetition(Value* scores);
  Value* forbid_repeated_ngrams(Value* scores);
  Value* forbid_short(Value* scores);
  Value* forbid(Value* scores, Value* forbidden);  // excludes tokens for which `forbidden` is true
  Value* zero_in(Value* mask);                     // bool: where the mask is 0
  Value* silence_of(Value* logits);

  // -- token_search_beams.cpp ------------------------------------------------------------------
  struct Candidates {
    Value *scores, *valid;  // f32, bool [B, K]
    Value* texts;           // s32 [B, K, max_length]
  };
  void start_beams();
  void choose_beams(Value* scores);
  void add_hypotheses(const Candidates& candidates);
  void end_beams();
  Value* padded_texts(Value* texts, Shape rows);
  Value* by_length(Value* scores);
  Value* rows_of(Value* beams, int64_t count);
  Value* cannot_improve(Value* top_scores);

  // -- token_search_tokens.cpp -----------------------------------------------------------------
  void choose_tokens(Value* scores);
  Value* sample(Value* scores);
  Value* filter_top(Value* scores);
  Value* draw();

  // -- Helpers ---------------------------------------------------------------------------------
  Value* op(const std::string& name, std::initializer_list<Value*> inputs,
            Attributes attributes = {}) {
    return build_.make1(name, inputs, attributes);
  }
  std::pair<Value*, Value*> top(Value* v, int64_t count, bool largest);
  Value* cast(Value* v, DType dtype);
  Value* number(double v) { return build_.constant(Tensor::scalar(static_cast<float>(v))); }
  Value* integer(int64_t v) { return build_.integer(v); }
  Value* token(int64_t v) { return build_.constant(Tensor::scalar(static_cast<int32_t>(v))); }
  // s64: first, first + step ...
  Value* series(Shape shape, int64_t first, int64_t step);
  Value* filled(DType dtype, Shape shape, int64_t value);
  Value* slice(Value* v, int64_t axis, int64_t begin, int64_t end);
  Value* concat(std::initializer_list<Value*> parts, int64_t axis);
  Value* reduce(const std::string& name, Value* v, int64_t axis, bool keep);
  Value* input(Place place) const {
    return place && *place < inputs_.size() ? inputs_[*place].value : nullptr;
  }
  int64_t rows() const { return batch_ * beams_; }
  bool is_beam() const { return places_.num_beams.has_value(); }
  // The model has an encoder: T5 or Whisper.
  bool is_t5() const { return encoder_.graph != nullptr; }
  bool is_whisper() const { return node_.int_attr("model_type", 0) == 2; }
  // The tokens before the first round: decoder_input_ids, or decoder_start_token_id.
  Value* first_tokens();
  bool wants(size_t output) const;
  template <class... Args>
  [[noreturn]] void fail_here(ErrorCode code, fmt::format_string<Args...> format,
                              Args&&... args) const {
    ctx_.fail_at(code, format, std::forward<Args>(args)...);
  }

  ResolveContext& ctx_;
  FoldingBuilder& build_;
  const ir::Node& node_;
  const SearchInputs& places_;
  Items inputs_;

  int64_t opset_ = 0;               // of ai.onnx
  int64_t batch_ = 0, prompt_ = 0;  // prompt_: the number of tokens before the first round
  int64_t max_length_ = 0, beams_ = 1, returned_ = 1, vocabulary_ = 0;
  int64_t eos_ = 0, pad_ = 0;
  Value *min_length_ = nullptr, *length_penalty_ = nullptr, *repetition_penalty_ = nullptr;
  Value *forbidden_ = nullptr, *forbidden_first_ = nullptr, *presence_ = nullptr;
  bool reads_hidden_states_ = false;        // the decoder is that of T5
  Body decoder_, first_decoder_, encoder_;  // first_decoder_ and encoder_ only if the node has them

  // The state before round t. Until the end of round 0 there is one row for each text, afterwards
  // one for each beam.
  int64_t length_ = 0;
  Value* texts_ = nullptr;   // s32 [rows, length_]
  Value* tokens_ = nullptr;  // s32 [rows, 1]: the last ones
  Value* done_ = nullptr;    // bool [B, 1]
  std::vector<Value*> caches_;
  std::vector<Value*> fixed_;  // inputs of the decoder that are the same in every round
  Value *mask_ = nullptr, *positions_ = nullptr;
  Value *beam_scores_ = nullptr, *hypothesis_scores_ = nullptr;  // f32 [B, K]
  Value *hypotheses_ = nullptr, *hypothesis_counts_ = nullptr;   // s32 [B, K, max], f32 [B, 1]
  Value* generator_ = nullptr;                                   // s64 [1, 1]
  Value* temperature_ = nullptr;                                 // f32 scalar
  Value* silence_ = nullptr;                                     // f32 [B]: non_speech_probs
  std::vector<Value*> all_scores_;                               // f32 [1, B, K, V]
};

}  // namespace poprt::ops

// Helpers shared by BeamSearch, WhisperBeamSearch, GreedySearch and Sampling of com.microsoft,
// which generate a text token by token with a decoder subgraph. The compiler unrolls them
// (ops/common/token_search.h).
#pragma once

#include <optional>

#include "ops/op.h"

namespace poprt::ops {

// The input number of each role; nullopt if the operator has no such input.
struct SearchInputs {
  using Place = std::optional<size_t>;
  size_t input_ids = 0, max_length = 1, min_length = 2;
  Place num_beams, num_return_sequences, length_penalty, repetition_penalty, vocab_mask,
      prefix_vocab_mask, attention_mask, decoder_input_ids, logits_processor, presence_mask, seed,
      cross_qk_layer_head, extra_decoding_ids, temperature;
};
// The inputs of a node of one of these operators.
const SearchInputs& search_inputs(const ir::Node& n);

// The inputs that decide shapes; bit i is input i.
uint32_t search_sizes(const ir::Node& n);

// Unrolls the search (ops/common/token_search.h).
void resolve_search(ResolveContext& ctx);

// Infers `sequences`, and the additional outputs of BeamSearch and WhisperBeamSearch.
void infer_search(InferContext& ctx);

}  // namespace poprt::ops

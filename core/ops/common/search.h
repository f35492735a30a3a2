// What BeamSearch, GreedySearch and Sampling of com.microsoft have in common: operators that write
// a text token by token with the decoder that they hold as a subgraph. The compiler unrolls them
// (ops/common/token_search.h).
#pragma once

#include <optional>

#include "ops/op.h"

namespace poprt::ops {

// Which input is what; nullopt: the operator has none.
struct SearchInputs {
  using Place = std::optional<size_t>;
  size_t input_ids = 0, max_length = 1, min_length = 2;
  Place num_beams, num_return_sequences, length_penalty, repetition_penalty, vocab_mask,
      prefix_vocab_mask, attention_mask, decoder_input_ids, logits_processor, presence_mask, seed;
};
// Of a node of one of the three.
const SearchInputs& search_inputs(const ir::Node& n);

// The inputs that decide shapes, bit i for input i.
uint32_t search_sizes(const ir::Node& n);

// Unrolls the search (ops/common/token_search.h).
void resolve_search(ResolveContext& ctx);

// `sequences`, and what BeamSearch makes besides.
void infer_search(InferContext& ctx);

}  // namespace poprt::ops

// Finds the caches of a language model, and the product that computes its logits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "ir/graph.h"

namespace poprt::passes {

// The pair of an input with past keys, values or states and an output with the present ones.
struct DecoderCache {
  ir::Value* past = nullptr;     // an input of the graph
  ir::Value* present = nullptr;  // computed by the node of the cache
  size_t axis = 2;               // the axis of the tokens
  // The present is the past followed by new tokens. Otherwise it has the size of the past.
  bool grows = false;
  ir::Value* added = nullptr;  // the new tokens of a Concat with two inputs; null for other nodes
  int64_t ring = 0;            // the number of places of a cache that is a ring; 0: it is none
};

// The cache that an output of the graph returns: a Concat, an attention operator or a TensorScatter
// with an input of the graph. Returns nothing if there is none. Throws unimplemented if the rank of
// the input is unknown or less than 2, and invalid_argument if it does not have the axis of the
// node.
std::optional<DecoderCache> cache_of(ir::Value* output);

// Removes sliding_window_cache from the nodes GroupQueryAttention. Their caches then have all
// tokens, and their windows remain.
void keep_whole_caches(ir::Graph& graph);

// The input of the graph with the state before a run, if an operator computes `output` as its next
// state: LinearAttention, CausalConvWithState, LSTM, GRU and RNN. Null if there is none.
ir::Value* operator_state_of(const ir::Value* output);

// The inputs of a graph whose caches have a fixed size. A member is null if no node reads such an
// input.
struct StaticCacheInputs {
  const ir::Value* write_indices = nullptr;  // of TensorScatter: the first place of the new tokens
  const ir::Value* valid_places = nullptr;   // nonpad_kv_seqlen of Attention
};
// Throws unimplemented if two inputs have the same purpose.
StaticCacheInputs static_cache_inputs(const ir::Graph& graph);

// The product whose result `value` is, after at most 7 nodes of the kinds Cast, Tanh, Identity and
// (with a constant) Mul, Div and Add; null if there is none.
ir::Node* product_of_logits(ir::Value* value);

// Skips the Slice or Gather with which a model selects the last token for its logits, `logits`, if
// there is one: a piece of a prompt may be padded, so the generator selects the token by an input.
void keep_all_tokens(ir::Value* logits);

// Gives the mask of keys, an input [batch, keys] with 1 for visible ones, to causal attention that
// has no mask and reads one of `pasts`. In the model of the exporter, all past keys are visible.
void mask_keys(ir::Graph& graph, ir::Value* mask, std::span<const ir::Value* const> pasts);

}  // namespace poprt::passes

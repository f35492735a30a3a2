// Recurrent states of a language model: pairs of an input and an output of the same size, such as
// the states of Mamba, RWKV, linear attention, causal convolutions and LSTM.
//
//   past.0.conv [B,C,K]  ->  present.0.conv [B,C,K]
//
// A pair is named by the caller, or an operator has both values, or the names differ only in words
// such as "past" and "present".
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace poprt::compiler {

// The names of the input and the output of states. "%d" is the place of a number that both have.
struct StateNames {
  std::string past, present;
  bool required = true;  // the model must have such an output
};

// Returns the input of the graph that `output` updates, or null. Throws not_found if a name in
// `named` matches the output and the input does not exist.
ir::Value* past_state_of(const ir::Graph& graph, const ir::Value* output,
                         const std::vector<StateNames>& named);

// Throws not_found if a required state is not an output of the graph.
void check_named(const ir::Graph& graph, const std::vector<StateNames>& named);

// A state whose first axis is the batch.
struct RecurrentState {
  std::string past, present;
  Shape tail;  // without the batch
};

// Makes the batch the first axis of a state, with a Transpose if it is another one. `ids` are
// the tokens, whose first axis is the batch. `slots` is the number of sequences of a step. Throws
// unimplemented if the batch or another axis has an unknown meaning.
RecurrentState take_state(ir::Graph& graph, ir::Value* past, size_t output, const ir::Value& ids,
                          int64_t slots);

}  // namespace poprt::compiler

// Masks of attention scores that a graph computes from one of its inputs [rows, length], which is 0
// where there is no token: found by what they compute, not by how an exporter spells it (a chain of
// Unsqueeze, Cast, Sub and Mul; Flatten and a Gather of every place; an outer product ...).
#pragma once

#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// `value`, [1 or rows, ..., 1 or length, length]: `kept` where the key's place has a token (with
// `pairs` the query's too), `dropped` elsewhere. A bool mask has 1 and 0, or 0 and 1.
struct KeyMask {
  ir::Value* value = nullptr;
  ir::Value* input = nullptr;
  bool pairs = false;
  double kept = 0, dropped = 0;
};

// Those that something else than the input joins: where scores meet them.
std::vector<KeyMask> find_key_masks(ir::Graph& graph);

// The same computed in the plainest way, in front of `at`: the input as bool, reshaped, and Where
// for a mask of floats.
ir::Value* plain_key_mask(ir::Node& at, const KeyMask& mask);

}  // namespace poprt::passes

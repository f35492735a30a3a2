// Finds masks of attention scores that a graph computes from one of its inputs, [rows, length],
// which is 0 at places without a token. A mask is recognised by its values and not by its nodes,
// because exporters write it in many forms: a chain of Unsqueeze, Cast, Sub and Mul; Flatten and a
// Gather of every place; an outer product.
#pragma once

#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// An element of `value`, [rows, ..., 1 or length, length], is `kept` if there is a token at the
// place of the key (with `pairs`, also at the place of the query), else `dropped`. A bool mask
// has the numbers 1 and 0, or 0 and 1.
struct KeyMask {
  ir::Value* value = nullptr;
  ir::Value* input = nullptr;
  bool pairs = false;
  double kept = 0, dropped = 0;
  std::vector<ir::Use> uses = {};  // the inputs of nodes at which it drops keys of an attention
};

// Returns the masks that drop keys of an attention (passes/common/attention_scores.h). A value that
// only resembles a mask is not returned, for example a bias for each key, or an input of which a
// Gather selects rows.
std::vector<KeyMask> find_key_masks(ir::Graph& graph);

// Adds the simplest nodes before `at` that compute the mask: the input as bool, a Reshape, with
// `pairs` an And, and then a Where if the mask is a float, or a Not if it is true where keys are
// dropped.
ir::Value* plain_key_mask(ir::Node& at, const KeyMask& mask);

}  // namespace poprt::passes

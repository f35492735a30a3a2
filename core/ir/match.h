// Small questions that pass writers ask about values and nodes.
#pragma once

#include <optional>
#include <string_view>

#include "ir/graph.h"

namespace poprt::ir {

// The value of a constant with exactly one element of a numeric type (any shape, so [1] and [1,1]
// count); absent for everything else, null included.
std::optional<double> const_scalar(const Value* value);

// The elements of a constant integer or boolean tensor of rank 0 or 1; absent for everything else.
std::optional<std::vector<int64_t>> const_ints(const Value* value);

// True when exactly one node input reads the value and it is no graph output: a pass may fuse its
// producer into the reader.
bool single_use(const Value* value);

// The node that makes `value` when it is an operator `type` of `domain`; null otherwise.
Node* producer_if(const Value* value, std::string_view type, std::string_view domain = "");

// The one node that reads `value`, when single_use; null otherwise.
Node* single_reader(const Value* value);

// For a node with two inputs, the input that is not `value` (the other operand of a commutative
// operator); null when `value` is neither, or both.
Value* other_input(const Node& node, const Value* value);

// True when replace_all_uses(from, to) keeps the graph's interface: always unless `from` is a graph
// output; then `to` must be made by a node of the same graph and be no output itself, so that it
// can take the name. A pass that removes an Identity, Reshape ... asks this first.
bool can_replace(const Value* from, const Value* to);

}  // namespace poprt::ir

// Predicates and queries about values and nodes that passes use.
#pragma once

#include <optional>
#include <string_view>

#include "ir/graph.h"

namespace poprt::ir {

// The value of a constant with exactly one element of a real numeric type or bool, of any shape
// such as [1] or [1,1]; nullopt for everything else, including null. Integers beyond 2^53 are
// rounded to double.
std::optional<double> const_scalar(const Value* value);

// The elements of a constant tensor of integers or bool with rank 0 or 1; nullopt for everything
// else.
std::optional<std::vector<int64_t>> const_ints(const Value* value);

// Whether exactly one input of one node reads the value, the value is not a graph output, and the
// reader is a node of the value's graph. If so, a pass may fuse the producer of the value into the
// reader: a node of a subgraph may run any number of times, and nodes do not move between graphs.
// The reader of a constant may be in a subgraph.
bool single_use(const Value* value);

// The producer of `value` if it is an operator `type` of `domain`, else null.
Node* producer_if(const Value* value, std::string_view type, std::string_view domain = "");

// The only node that reads `value` if single_use(value), else null.
Node* single_reader(const Value* value);

// Returns the other operand of a node with two inputs if exactly one of them is `value`, else null.
Value* other_input(const Node& node, const Value* value);

// Whether replace_all_uses(from, to) keeps the names of the graph outputs. This is the case unless
// `from` is a graph output; then a node of the same graph must compute `to`, and `to` must not be
// an output itself, so that it can take the name. A pass checks this before it removes an Identity,
// a Reshape and so on.
bool can_replace(const Value* from, const Value* to);

// Whether two nodes have equal attributes. Subgraphs and lists of tensors are never equal.
bool same_attributes(const Node& a, const Node& b);

}  // namespace poprt::ir

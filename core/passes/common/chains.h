// Patterns of nodes in PopRT's notation. A pattern is a list of chains whose elements, joined by
// "->", read each other. "OpType:key" is a node of that type; the same key in two chains means the
// same node. "s:key" at the start of a chain and "e:key" at its end mark where the pattern
// continues in the graph; they match anything.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// Returns all nodes of all matches of `text` (for example "'s:0->MatMul:1->e:2','Add:3->MatMul:1'",
// with or without quotes). An empty text matches nothing. Throws invalid_argument for a malformed
// pattern and not_found for one without a match, with `label` as prefix.
std::unordered_set<const ir::Node*> nodes_of_chains(ir::Graph& graph, std::string_view label,
                                                    const std::string& text);

}  // namespace poprt::passes

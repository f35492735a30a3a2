// Patterns of nodes as PopRT's users write them: chains, elements joined by "->", which read each
// other. "OpType:key" is a node of that type; the same key in two chains is the same node. "s:key"
// at the begin is whatever makes a value, "e:key" at the end whatever reads it.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// All nodes of all places where the chains of `text` ("'s:0->MatMul:1->e:2','Add:3->MatMul:1'",
// quoted or not) are found; none for an empty text. Throws invalid_argument for a text that is no
// pattern and not_found when it is nowhere, with `label` in front.
std::unordered_set<const ir::Node*> nodes_of_chains(ir::Graph& graph, std::string_view label,
                                                    const std::string& text);

}  // namespace poprt::passes

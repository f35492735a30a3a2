// What rewrites of If share.
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// Moves the nodes of `branch` into `graph`, in front of `before` (null: to the end); returns what
// stands for the branch's outputs.
std::vector<ir::Value*> inline_graph(ir::Graph& branch, ir::Graph& graph, ir::Node* before);

// A branch of an If; null when there is none.
std::shared_ptr<ir::Graph> branch_of(const ir::Node& node, std::string_view attribute);

// All that a node reads from its graph and from those around it, what its subgraphs read included.
std::unordered_set<const ir::Value*> values_read(const ir::Node& node);

// A function of its inputs that keeps nothing and holds no subgraphs.
bool is_pure(const ir::Node& node);

}  // namespace poprt::passes

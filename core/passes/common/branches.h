// Helpers for nodes with subgraphs, above all If.
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// Moves the nodes of `branch` into `graph`, before `before` (null: to the end). Returns the values
// that replace the branch's outputs.
std::vector<ir::Value*> inline_graph(ir::Graph& branch, ir::Graph& graph, ir::Node* before);

// Returns a branch of an If, or null if the attribute is missing.
std::shared_ptr<ir::Graph> branch_of(const ir::Node& node, std::string_view attribute);

// Returns all values that a node and the nodes in its subgraphs read: values of its graph, of outer
// graphs and of the subgraphs.
std::unordered_set<const ir::Value*> values_read(const ir::Node& node);

// Whether a node depends on its inputs only, has no state and has no subgraphs.
bool is_pure(const ir::Node& node);

}  // namespace poprt::passes

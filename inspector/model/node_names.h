// The operators of a graph by the names that the compiler gives to their instructions.
//
// An instruction has the name of its node. Nodes of a model may have no name, or one that other
// nodes have, too, so the inspector compiles a copy whose nodes have the names of unique_names().
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "model/graph_model.h"

namespace poprt::inspector {

// A name for each node of the graph and of its subgraphs that no other of them has: the name of the
// node, or that of its first result if the node has no name or shares it. A number is appended if
// another node or result has that name, too.
std::unordered_map<const ir::Node*, std::string> unique_names(const ir::Graph& graph);

// Returns a copy in which these are the names of the nodes.
std::unique_ptr<ir::Graph> with_unique_names(const ir::Graph& graph);

class NodeNames {
 public:
  explicit NodeNames(const GraphModel& graph);

  // Returns the operator whose GraphNode::key, name, or name of a result an instruction has. The
  // name of an instruction of a body may begin with the prefix of that body
  // (ops/common/body_scope.h). Returns kNone if there is no such operator, or if bodies with the
  // same name contain several.
  int find(std::string_view instruction) const;

 private:
  struct Scope {
    std::string name;  // of the prefix; empty for the graph itself
    std::vector<size_t> inner;
    std::unordered_map<std::string, int> nodes;
  };

  int find_in(const Scope& scope, std::string_view name) const;

  std::vector<Scope> scopes_;  // the first one is the graph itself
  std::unordered_map<std::string, int> all_;
};

// The sum of the values of each node, which are given by the names of instructions. A node with
// subgraphs has the sum of their nodes, too. Nodes without a value have 0.
std::vector<double> sums_of_nodes(const GraphModel& graph,
                                  const std::vector<std::pair<std::string, double>>& values);

}  // namespace poprt::inspector

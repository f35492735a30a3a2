// The operators of a graph by the names that the compiler gives to their instructions.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/graph_model.h"

namespace poprt::inspector {

class NodeNames {
 public:
  explicit NodeNames(const GraphModel& graph);

  // Returns the operator whose name, or the name of one of whose results, an instruction has. The
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

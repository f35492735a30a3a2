// Gives nodes and values of a graph new names, so that it can be saved as a model.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "ir/graph.h"

namespace poprt::inspector {

// Names are those that the inspector shows (printable()).
struct Renames {
  // From the first result of a node to the node's new name: several nodes may have the same name or
  // none, but results are unique.
  std::map<std::string, std::string> nodes;
  std::map<std::string, std::string> values;  // from the name of a value to its new name

  size_t count() const { return nodes.size() + values.size(); }
};

// A copy of the graph with the new names. Several names may change at once, so two values can
// exchange theirs. A value name that both branches of an If use changes in both. Weights share
// their bytes. Throws invalid_argument, with the name, if a new name is empty or another node or
// value has it, and not_found if the graph has no such node or value.
std::unique_ptr<ir::Graph> renamed(const ir::Graph& graph, const Renames& names);

}  // namespace poprt::inspector

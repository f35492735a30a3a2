// The nodes that differ between two graphs: two steps of a compilation, or two models.
#pragma once

#include <cstddef>
#include <vector>

#include "model/graph_model.h"

namespace poprt::inspector {

enum class Change { none, added, removed, changed };

// Two nodes correspond if they have the same operator and the same name, which no other node has,
// because a pass that fuses a node into another renames the result of the other: a Conv that
// absorbs a BatchNormalization is the same Conv. Else they correspond if their first outputs have
// the same name, else if the nodes have the same name, else if one is a copy that the compiler made
// of the other, which is in a body (ops/common/body_scope.h). Of several copies, such as one for
// each round, the first one counts as changed and the others count as added. Contains the added and
// changed nodes of `after`, and the removed nodes of `before`.
struct GraphChanges {
  std::vector<Change> after;
  std::vector<int> before;  // the corresponding node of each node of `after`, or kNone
  std::vector<int> removed;
  size_t added = 0, changed = 0;
};

GraphChanges changes_between(const GraphModel& before, const GraphModel& after);

}  // namespace poprt::inspector

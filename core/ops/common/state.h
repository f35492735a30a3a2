// Operators that keep values from one run to the next.
#pragma once

#include <algorithm>

#include "ops/op.h"

namespace poprt::ops {

// Whether the node must run even if its results are not read.
inline bool is_stateful(const ir::Node& node) {
  if (node.domain.empty()) return false;
  const OpDef* op = find_op(node.domain, node.op_type, std::max<int64_t>(node.opset(), 1));
  return op && op->stateful;
}

// The same for the node or a node in its subgraphs.
inline bool has_state(const ir::Node& node) {
  bool found = is_stateful(node);
  ir::for_each_subgraph(node, [&](const ir::Graph& sub) {
    for (const ir::Node* n : sub.nodes()) found = found || has_state(*n);
  });
  return found;
}

}  // namespace poprt::ops

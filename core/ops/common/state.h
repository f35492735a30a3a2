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

}  // namespace poprt::ops

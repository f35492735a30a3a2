// Which inputs of an operator are of one element type, by the published schemas.
#pragma once

#include "ir/graph.h"

namespace poprt::ops {

// Throws invalid_argument naming the node and both inputs when two that share a type parameter are
// of different types. Says nothing of types that are not known and of operators without a schema.
void check_type_parameters(const ir::Node& node);

}  // namespace poprt::ops

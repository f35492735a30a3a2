// Which inputs of an operator have the same element type according to the published schemas.
#pragma once

#include "ir/graph.h"

namespace poprt::ops {

// Throws invalid_argument naming the node and both inputs if two inputs with the same type
// parameter have different types. Types that are unknown and operators without a schema are not
// checked.
void check_type_parameters(const ir::Node& node);

}  // namespace poprt::ops

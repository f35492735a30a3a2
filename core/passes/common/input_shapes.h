// Fixing the variable dimensions of a graph's inputs.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"

namespace poprt::passes {

struct InputShapes {
  std::map<std::string, Shape> shapes = {};  // by name
  int64_t batch_size = 0;                    // of every input; 0: not given
  int64_t batch_axis = -1;
};

// Known dimensions must not change. A symbolic dimension that one input fixes is fixed in all
// inputs that use the same symbol. True when a dimension changed. Throws invalid_argument naming
// the input and the option.
bool fix_input_shapes(ir::Graph& graph, const InputShapes& wanted);

}  // namespace poprt::passes

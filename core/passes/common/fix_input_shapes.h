// Makes the variable dimensions of a graph's inputs static.
#pragma once

#include <map>
#include <set>
#include <string>

#include "ir/graph.h"

namespace poprt::passes {

struct InputShapes {
  std::map<std::string, Shape> shapes = {};  // by input name
  int64_t batch_size = 0;                    // 0: not given
  // The axis of the batch. If the dimension of an input at this axis has a name, such as N of
  // x [N,length], an input with N at another axis has the batch there, such as a state
  // [layers,N,size].
  int64_t batch_axis = -1;
  std::set<std::string> without_batch = {};  // inputs that batch_size does not change
};

// Gives the shapes the size of the batch where the batch is, except in dimensions that the graph
// fixes.
void set_batch_of_shapes(InputShapes& wanted, const ir::Graph& graph);

// Applies the shapes and the batch. A shape for a name that is not an input causes a warning. Known
// dimensions must not change. If one input fixes a symbolic dimension, all inputs with the same
// symbol get its value. Returns whether a dimension changed. Throws invalid_argument with the names
// of the input and the option.
bool fix_input_shapes(ir::Graph& graph, const InputShapes& wanted);

}  // namespace poprt::passes

// What poprt_exec debug does to models: made-up data, changed weights, parts of graphs.
#pragma once

#include <string>
#include <vector>

#include "base/tensor.h"
#include "common/abi.h"
#include "ir/graph.h"

namespace poprt::cli {

// Fixes variable dimensions of inputs as --input_shape, --batch_size and --batch_axis say.
void fix_shapes(ir::Graph& graph, const CompileSettings& settings);

// "zeros", "ones", "rand" (uniform in [0, 1); 0 or 1 for integers and bools; the same for the same
// name) or the path of a .npy file, whose elements become `dtype` and whose shape must have as many
// elements. Throws Failure, beginning with `what`.
Tensor data_of(const std::string& word, DType dtype, const Shape& shape, const std::string& what,
               const std::string& name);

// NAME=DATA words: new values for constants; a graph input becomes a constant. Throws Usage for a
// name that is neither.
void update_tensors(ir::Graph& graph, const std::vector<std::string>& words);

// Leaves what lies between the named values: `inputs` become the graph's inputs, with the types
// that they have, `outputs` its outputs. Inputs of the graph that are needed besides stay; none
// named: all stay. Throws Usage for unknown names.
void extract(ir::Graph& graph, const std::vector<std::string>& inputs,
             const std::vector<std::string>& outputs);

// The graph as text: level 0 what the model says about itself with inputs and outputs, 1 the names
// of nodes, 2 also what they read, make and have as attributes, 3 also types and shapes of all
// that.
std::string describe(const ir::Graph& graph, int level);
// Nodes, or else values, whose names hold the regular expression, in full, constants with their
// elements. Throws Usage when it is none, and when nothing has such a name.
std::string describe_named(const ir::Graph& graph, const std::string& expression);

}  // namespace poprt::cli

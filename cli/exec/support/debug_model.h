// Operations of poprt_exec debug on models: artificial data, changed weights, parts of graphs.
#pragma once

#include <string>
#include <vector>

#include "base/tensor.h"
#include "common/abi.h"
#include "ir/graph.h"

namespace poprt::cli {

std::vector<std::string> input_names(const ir::Graph& graph);

// Makes variable dimensions of inputs static as --input_shape, --batch_size and --batch_axis
// specify. Throws like compiler::fix_shapes().
void fix_shapes(ir::Graph& graph, const CompileSettings& settings);

// `word` is "zeros", "ones", "rand" (uniform in [0, 1); 0 or 1 for integers and bools; equal for
// equal names) or the path of a .npy file, whose elements are converted to `dtype` and whose shape
// must have the same number of elements. Throws Failure with `what` as prefix.
Tensor data_of(const std::string& word, DType dtype, const Shape& shape, const std::string& what,
               const std::string& name);

// Sets new values of constants from NAME=DATA words. A graph input becomes a constant. Throws Usage
// for other names, and for a name that is given twice.
void update_tensors(ir::Graph& graph, const std::vector<std::string>& words);

// Keeps the part of the graph between the named values: `inputs` become its inputs, with their
// types, and `outputs` its outputs. Other inputs of the graph stay if an output needs them. Throws
// Usage for unknown names, for a name that is given twice or in both lists, and for a name in
// `inputs` that no output needs; and the errors of ops::infer().
void extract(ir::Graph& graph, const std::vector<std::string>& inputs,
             const std::vector<std::string>& outputs);

// Returns the graph as text. Level 0 consists of the model's metadata, inputs and outputs, and
// level 1 of the names of its nodes. Level 2 adds their operators, inputs, outputs and attributes,
// and level 3 the types and shapes of the inputs and outputs.
std::string describe(const ir::Graph& graph, int level);
// Returns the nodes whose names match the regular expression, or else the values, in full and with
// the elements of constants. The first 4096 bytes of a name are matched. Throws Usage for an
// invalid expression and if nothing matches.
std::string describe_named(const ir::Graph& graph, const std::string& expression);

}  // namespace poprt::cli

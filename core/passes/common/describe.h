// Describes a graph as text for users.
#pragma once

#include <string>
#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// "dtype - f32, shape - [1, 3]"; variable dimensions are 0.
std::string describe_type(const ir::Value& v);
// The same with the names of variable dimensions, or ? if they have none. A container is described
// as "sequence of f32[?,3]".
std::string describe_named_type(const ir::Value& v);
// The inputs of an imported model in the order of its file, with those that are sequences and
// optionals (onnx/import.h).
std::vector<const ir::Value*> model_inputs(const ir::Graph& graph);
// Number of inputs and outputs of each type, in the order of their first occurrence.
std::string io_statistics(const ir::Graph& graph);
// For each layer (Facts::layer) of a converted model whose result `before` also computes: a line
// with its type and the name of that result.
std::string layer_results(const ir::Graph& before, const ir::Graph& after);
// Passes the text to PassContext::print, or prints it to the standard output.
void print_text(const PassContext& context, const std::string& text);

}  // namespace poprt::passes

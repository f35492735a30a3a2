// What a graph is, in words for people.
#pragma once

#include <string>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// "dtype - f32, shape - [1, 3]"; variable dimensions are 0.
std::string describe_type(const ir::Value& v);
// How many inputs and outputs have each type, in the order in which they come.
std::string io_statistics(const ir::Graph& graph);
// Of each layer (Facts::layer) of a converted model whose result `before` computes, too: its type
// and the name of that result, one line each.
std::string layer_results(const ir::Graph& before, const ir::Graph& after);
// Hands text to PassContext::say, or prints it.
void tell(const PassContext& context, const std::string& text);

}  // namespace poprt::passes

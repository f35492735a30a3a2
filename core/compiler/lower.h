// From a graph whose every node has a lowering to a program.
#pragma once

#include "compiler/compiler.h"

namespace poprt::compiler {

// Types must be static. Inputs and outputs become anchors in graph order.
Executable lower(ir::Graph& graph, const std::function<void(double)>& progress);

}  // namespace poprt::compiler

// From a graph whose every node has a lowering to a program.
#pragma once

#include "compiler/compiler.h"
#include "compiler/shard.h"

namespace poprt::compiler {

// Types must be static. Inputs and outputs become anchors in graph order. Of several IPUs each gets
// what `options` and `placement` give it.
Executable lower(ir::Graph& graph, const std::function<void(double)>& progress,
                 const Options& options = {}, const ir::Placement& placement = {});

}  // namespace poprt::compiler

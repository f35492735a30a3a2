// Translates a graph whose nodes all have a lowering to a program.
#pragma once

#include "compiler/compiler.h"
#include "compiler/shard.h"

namespace poprt::compiler {

// Types must be static. Inputs and outputs become anchors in graph order. With several IPUs,
// `options` and `placement` assign nodes to them.
Executable lower(ir::Graph& graph, const std::function<void(double)>& progress,
                 const Options& options = {}, const ir::Placement& placement = {});

}  // namespace poprt::compiler

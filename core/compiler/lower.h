// Translates a graph whose nodes all have a lowering to a program.
#pragma once

#include "compiler/compiler.h"
#include "compiler/shard.h"

namespace poprt::compiler {

// Inputs and outputs become anchors in graph order. With several IPUs, `options` and `placement`
// assign nodes to them. Changes the graph: its control flow is flattened. `progress` receives 0..1
// and may be null. Throws invalid_argument if a type is not static, unimplemented for an operator
// without a lowering, a constant of strings, and state that several IPUs would share, and the
// errors of cut_graph().
Executable lower(ir::Graph& graph, const std::function<void(double)>& progress,
                 const Options& options = {}, const ir::Placement& placement = {});

}  // namespace poprt::compiler

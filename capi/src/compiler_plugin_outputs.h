// Which outputs a model has for the compiler.
#pragma once

#include <poprt/compiler.h>

#include "ir/graph.h"

namespace poprt::capi {

// Takes away the outputs that remove_outputs names, and adds the tensors of checkpoints.
void change_outputs(ir::Graph& graph, const poprt_compile_options& o);

// Leaves the outputs that the options name, in that order.
void select_outputs(ir::Graph& graph, const poprt_compile_options& o);

}  // namespace poprt::capi

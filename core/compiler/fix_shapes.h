// Makes every graph input static, from the user's options.
#pragma once

#include "compiler/compiler.h"

namespace poprt::compiler {

// Applies input_shape, batch_size and batch_axis. Known dimensions must not change. A symbolic
// dimension that one input fixes is fixed in all inputs that use the same symbol. Throws
// invalid_argument / not_found naming the input and the option.
void fix_shapes(ir::Graph& graph, const Options& options);

// Throws invalid_argument when an input is not static: the device runs static graphs only.
void require_static_inputs(const ir::Graph& graph);

}  // namespace poprt::compiler

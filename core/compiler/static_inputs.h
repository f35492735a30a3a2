// Makes every graph input static according to the user's options.
#pragma once

#include "compiler/compiler.h"
#include "compiler/shape_sets.h"

namespace poprt::compiler {

// Applies input_shape, batch_size and batch_axis. Known dimensions must not change. If one input
// fixes a symbolic dimension, all inputs with the same symbol get its value. A name in input_shape
// that is not an input causes a warning. Throws invalid_argument with the names of the input and
// the option.
void fix_shapes(ir::Graph& graph, const Options& options);

// Replaces the batch in input_shape by batch_size, for example to fix the other dimensions of an
// input whose batch varies. A batch that the graph fixes stays. `batch_size` must be given.
void set_batch_of_shapes(const ir::Graph& graph, Options& options);

// Throws invalid_argument if an input is not static, because the device runs only static graphs.
// The message names a similar name in `given`, the shapes of options, that is not an input, and
// advises a batch size if `has_batch` is false. If the input has strings, throws like
// refuse_text().
void require_static_inputs(const ir::Graph& graph, const ShapeSet& given = {},
                           bool has_batch = false);

// Throws unimplemented if an input of a model has strings, which no shape makes possible.
void refuse_text(const ir::Value& input);

}  // namespace poprt::compiler

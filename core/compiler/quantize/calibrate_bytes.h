// Chooses, from data, the ranges of the values that a model stores in bytes: the operands of
// products that have kernels for bytes, and values between such products
// (passes/common/byte_values.h).
#pragma once

#include <map>
#include <string>

#include "compiler/compiler.h"

namespace poprt::compiler {

// Returns the parameters of float_to_qdq, made from `options.narrowing`, and appends the log.
// `graph` is the graph that the pass will convert.
passes::PrecisionParameters calibrate_bytes(ir::Graph& graph, const Options& options,
                                            std::string& log);

// Compares a converted model with the original on the last runs that contain at least a fifth of
// the samples, but not on the first run. The calibration does not use these runs. If there is only
// one run, it is used for both. Returns lines, the first of which begins with "accuracy on", or
// with "accuracy not measured" if the conversion has changed an input. Throws invalid_argument for
// labels that do not fit the data or the outputs.
std::string measure_accuracy(const ir::Graph& original, const ir::Graph& converted,
                             const Options& options);

}  // namespace poprt::compiler

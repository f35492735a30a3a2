// Chooses, from data, the ranges of the values that a model stores in bytes: the operands of
// products that have kernels for bytes, and values between such products
// (passes/common/byte_values.h).
#pragma once

#include <map>
#include <string>

#include "compiler/compiler.h"
#include "compiler/quantize/samples.h"

namespace poprt::compiler {

// Returns the parameters of float_to_qdq, made from `options.narrowing`, and appends the log.
// `graph` is the graph that the pass will convert.
passes::PrecisionParameters calibrate_bytes(ir::Graph& graph, const Options& options,
                                            std::string& log);

// The runs of the data that measure the result and are not used to choose ranges: the last fifth,
// but at least one. If there is only one run, it is used for both.
struct HeldOut {
  int64_t first = 0, end = 0;
  bool separate() const { return first > 0; }
};
HeldOut held_out(const Samples& samples);

// Compares a converted model with the original on the held-out runs. Returns lines, the first of
// which begins with "accuracy on", or with "accuracy not measured" if the conversion has changed an
// input. Throws invalid_argument for labels that do not fit the data or the outputs.
std::string measure_accuracy(const ir::Graph& original, const ir::Graph& converted,
                             const Options& options);

}  // namespace poprt::compiler

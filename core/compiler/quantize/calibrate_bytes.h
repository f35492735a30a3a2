// Chooses the values of a model that are stored in bytes, and their ranges on data.
//
// The products (Conv, MatMul, Gemm with constant weights) that have kernels for bytes read bytes.
// In addition, these values become bytes, so that no value is converted to floats between products:
//
//   Conv -> Relu, Clip           the result, because a convolution of bytes writes bytes
//   Conv -> Add -> Relu          both operands and the result
//   MaxPool, Reshape ... of bytes  the result, with the same range
//   Concat of bytes              the result
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

// The runs of the data that are not used to choose ranges, but to measure the result: the last
// fifth, or all if there is one run.
struct HeldOut {
  int64_t first = 0, end = 0;
  bool separate() const { return first > 0; }
};
HeldOut held_out(const Samples& samples);

// Compares a converted model with the original on the held-out runs. Returns lines that begin with
// "accuracy on".
std::string measure_accuracy(const ir::Graph& original, const ir::Graph& converted,
                             const Options& options);

}  // namespace poprt::compiler

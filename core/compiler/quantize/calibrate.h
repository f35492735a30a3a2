// Chooses the formats of 8-bit floats, or the ranges of bytes, for the products of a model by their
// values on data.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "compiler/quantize/loss.h"

namespace poprt::compiler {

// Runs one model repeatedly. Inputs and outputs are in the order of its anchors.
using RunModel = std::function<void(std::span<const Tensor> inputs, std::span<Tensor> outputs)>;

// The result of a calibration, which quantize.log describes.
struct CalibrationResult {
  std::mutex mutex;  // protects the other members
  std::optional<passes::PrecisionParameters> parameters;
  std::string log;
  bool compared = false;  // whether the log has the comparison of both models
};

struct Calibration {
  Loss loss = Loss::kld;
  // Arrays by input name. The first axis counts samples. If empty, formats are those of
  // float_to_fp8, and the layers to keep are found by their weights only.
  std::map<std::string, Tensor> data;
  int64_t layers_to_keep = 0;  // the layers with the largest loss, which stay f16, or f32 with int8
  double percentile = 99.99;   // of Loss::percentile
  // The class of each sample. If given, precision int8 counts the correct answers of both models.
  std::vector<int64_t> labels = {};
  // Loads an executable on a device. The compiler does not depend on devices.
  std::function<RunModel(Executable executable)> load;
  // Receives the text of quantize.log; may be null.
  std::function<void(const std::string& text)> log;
  // Caches the result for the same model, options and data; may be null.
  std::shared_ptr<CalibrationResult> result;
};

// Returns the parameters of float_to_fp8 or float_to_qdq (precision int8), made from
// `options.narrowing` (skipped layers, formats without data). `graph` is the graph that the pass
// will convert. Requires `options.calibration`. Throws invalid_argument for data that does not
// match the inputs of the graph.
passes::PrecisionParameters calibrate(ir::Graph& graph, const Options& options);
// Reports a part in [0, 1] of the calibration, or of the comparison after it, if the options have a
// callback.
void report_calibration(const Options& options, double done);
// A graph that runs on the device of a calibration, with memory for its outputs. Outputs NAME:shape
// (flow/specialize.h) are after the others.
struct RunnableGraph {
  RunModel run;
  std::vector<Tensor> outputs;
};
// Compiles a copy of the graph. Sizes that depend on data, which a graph for an ONNX model may
// have, become their bounds.
RunnableGraph runnable(const ir::Graph& graph, const Options& options);
// Compares the converted model with the one that calibrate() received, and adds the comparison to
// the log, unless a conversion has done so before.
void compare_calibrated(const ir::Graph& original, const ir::Graph& converted,
                        const Options& options);

// Returns rows of the inputs of product `node` (Conv with two spatial dimensions, one group and no
// auto_pad, or MatMul or Gemm with a matrix of weights) in the order in which its weights multiply
// them. They are spread evenly over `data`: all rows, or at least `most` and fewer than twice as
// many. Empty for other products.
std::vector<float> rows_of(const ir::Node& node, const Tensor& data, int64_t most);

}  // namespace poprt::compiler

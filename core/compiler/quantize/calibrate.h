// Formats of 8-bit floats for each product of a model, by what it computes on data.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "compiler/compiler.h"
#include "compiler/quantize/loss.h"

namespace poprt::compiler {

// Runs one model again and again: inputs and outputs in the order of its anchors.
using RunModel = std::function<void(std::span<const Tensor> inputs, std::span<Tensor> outputs)>;

// What was found, and said in quantize.log.
struct CalibrationResult {
  std::mutex mutex;  // of the others
  std::optional<passes::PrecisionParameters> parameters;
  std::string log;
};

struct Calibration {
  Loss loss = Loss::kld;
  // Arrays by the model's inputs; their first axis counts samples. Empty: formats are those of
  // float_to_fp8, and layers to keep are found by their weights alone.
  std::map<std::string, Tensor> data;
  int64_t layers_to_keep = 0;  // those that lose most stay f16
  // Gets a device to run an executable on; the compiler knows none.
  std::function<RunModel(Executable executable)> load;
  // Takes the text of quantize.log; may be null.
  std::function<void(const std::string& text)> log;
  // Where the result is kept for the next time with the same model, options and data; may be null.
  std::shared_ptr<CalibrationResult> result;
};

// What float_to_fp8 is to be told, made from `parameters` (skipped layers, formats without data).
// `graph` is what the pass will see. Throws invalid_argument for data that does not fit its inputs.
passes::PrecisionParameters calibrate(ir::Graph& graph, const Options& options);

// Rows of the inputs of product `node` (Conv with one group, MatMul, Gemm) as its weights meet
// them, at most `most` of them, evenly spread over `data`; empty for other products.
std::vector<float> rows_of(const ir::Node& node, const Tensor& data, int64_t most);

}  // namespace poprt::compiler

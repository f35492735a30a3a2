// Runs models on the back ends of poprt_exec debug compare.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "common/abi.h"

namespace poprt::cli {

using NamedTensors = std::map<std::string, Tensor>;

// Returns all outputs of the model `path` (.onnx) on `backend`: "poprt" or "onnxruntime" (a Python
// package). Inputs that the model does not have are ignored, and elements are converted to its
// types. Throws Usage or Failure if an input of the model is missing, and Failure with the name of
// a missing package.
NamedTensors run_on_backend(const std::string& backend, const std::string& path,
                            const NamedTensors& inputs, const CompileSettings& settings);

struct Metric {
  std::string name;
  double value = 0;
};
// Computes "rel" (the largest difference as a fraction of the largest finite element of `source`),
// "mse", "rmse", "mae", "mape" (percent of the source) and "r2" of two tensors with equal numbers
// of elements, in double. NaN equals NaN, and infinity equals infinity; an element that is NaN in
// one tensor only makes every metric NaN. check_metrics() must have accepted the names.
std::vector<Metric> metrics(const std::vector<std::string>& names, const Tensor& source,
                            const Tensor& other);
// Throws Usage for the name of another metric.
void check_metrics(const std::vector<std::string>& names);

}  // namespace poprt::cli

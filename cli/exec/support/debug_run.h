// Runs models on the back ends of poprt_exec debug compare.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "common/abi.h"

namespace poprt::cli {

using NamedTensors = std::map<std::string, Tensor>;

// The outputs of the model `path` (.onnx), all of them, on `backend`: "poprt", or "onnxruntime",
// which is a package of Python. Inputs that the model lacks are left out; the others' elements
// become its types. Throws Failure that says what is missing.
NamedTensors run_on_backend(const std::string& backend, const std::string& path,
                            const NamedTensors& inputs, const CompileSettings& settings);

struct Metric {
  std::string name;
  double value = 0;
};
// "mse", "rmse", "mae", "mape" (percent of the source) and "r2" of two tensors with as many
// elements, computed in double. Throws Usage for another name.
std::vector<Metric> metrics(const std::vector<std::string>& names, const Tensor& source,
                            const Tensor& other);
void check_metrics(const std::vector<std::string>& names);

}  // namespace poprt::cli

// Runs a model as it was and as it became on the same random inputs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"
#include "runtime/session/model.h"

namespace poprt::capi {

// Throws data_loss that names the first output which differs by more than rounding can explain (of
// 8-bit floats if `quarters`, of fp16 when the converted model has such outputs or inputs), and by
// how much.
void check_same_results(const std::shared_ptr<const runtime::Model>& original,
                        const std::shared_ptr<const runtime::Model>& converted, bool quarters);

// An output of both models, and the type of the operator that makes it.
struct Layer {
  std::string type, name;
};

// How far the layers' results are apart: for each, and at the end as a table, the worst first. On
// one batch of `data`, arrays by inputs whose first axis counts samples, else on random numbers.
// Throws invalid_argument for data that has other shapes than the inputs.
std::string compare_layers(const std::vector<Layer>& layers,
                           const std::shared_ptr<const runtime::Model>& original,
                           const std::shared_ptr<const runtime::Model>& converted,
                           const std::map<std::string, Tensor>& data);

}  // namespace poprt::capi

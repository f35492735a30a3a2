// Evaluation that also reports the kernels that ran.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/op.h"

namespace poprt::ops {

// The same as evaluate (ops/common/evaluate.h). Appends the names of the kernels that ran to
// `kernels` unless it is null.
std::vector<Tensor> evaluate_listing(const ir::Node& node, std::span<const Tensor> inputs,
                                     std::vector<std::string>* kernels, int64_t threads = 1,
                                     bool checks_indices = false);

}  // namespace poprt::ops

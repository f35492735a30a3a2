// Evaluation that also says what it ran.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/op.h"

namespace poprt::ops {

// As evaluate (ops/common/evaluate.h); appends the names of the kernels that ran to `kernels` when
// it is given.
std::vector<Tensor> evaluate_listing(const ir::Node& node, std::span<const Tensor> inputs,
                                     std::vector<std::string>* kernels, int64_t threads = 1);

}  // namespace poprt::ops

// Computes one node on constant inputs by lowering it and running its kernels on the calling
// thread. Constant folding and the operator tests use it.
#pragma once

#include <span>
#include <vector>

#include "ops/op.h"

namespace poprt::ops {

// Returns the results of every output of `node` (undefined tensors for outputs whose type is not
// static). `inputs[i]` is the value of input i (ignored if the node has no such input). The types
// of outputs must be inferred. Throws unimplemented if the node has subgraphs or no lowering, and
// the errors of lowering. `threads` is the number of threads for which kernels are prepared.
// With `checks_indices`, an index outside its tensor is an error as in a run of the device
// (inference refuses those of constants); without it, it selects zeros.
std::vector<Tensor> evaluate(const ir::Node& node, std::span<const Tensor> inputs,
                             int64_t threads = 1, bool checks_indices = false);

// A rough estimate of the nanoseconds that evaluate() takes on one thread; it does not depend on
// values. Has the same requirements.
double work_of(const ir::Node& node);

}  // namespace poprt::ops

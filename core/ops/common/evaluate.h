// Computes one node on constant inputs by lowering it and running its kernels on this thread:
// constant folding and the operator tests use it.
#pragma once

#include <span>
#include <vector>

#include "ops/op.h"

namespace poprt::ops {

// Results of every output of `node` (undefined tensors for outputs whose type is not static).
// `inputs[i]` stands for input i (ignored where the node has none). Output types must be inferred
// and static. Throws unimplemented when the node has subgraphs or no lowering.
std::vector<Tensor> evaluate(const ir::Node& node, std::span<const Tensor> inputs,
                             int64_t threads = 1);

// Rough nanoseconds that evaluate() takes on one thread, which no value changes. For the same
// nodes.
double work_of(const ir::Node& node);

}  // namespace poprt::ops

// What may follow a matrix product or convolution inside the same kernel.
#pragma once

#include <limits>
#include <string_view>

#include "ir/graph.h"
#include "passes/pass.h"

namespace poprt::passes {

inline constexpr size_t kNoResidual = std::numeric_limits<size_t>::max();

// Merges an activation node into the internal operator `op_type` (domain poprt) that makes its
// input, if nothing else reads that. True when done; `node` is gone then.
bool fuse_activation(ir::Node& node, std::string_view op_type, PassContext& context);

// Merges an Add with a value of exactly the result's shape as input `residual_input` of the
// internal operator that makes the other operand.
bool fuse_residual(ir::Node& add, std::string_view op_type, size_t residual_input,
                   PassContext& context);

// True when the operator has neither an activation nor a residual: a constant may still go into its
// bias.
bool takes_bias(const ir::Node& node, size_t residual_input);

// Moves the internal operator to the place of `node`, which reads its result last, and lets it make
// the result of `node`.
void absorb(ir::Node& op, ir::Node& node);

}  // namespace poprt::passes

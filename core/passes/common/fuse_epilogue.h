// Merges the nodes that may follow a matrix product or convolution into the same kernel.
#pragma once

#include <limits>
#include <string_view>

#include "ir/graph.h"
#include "passes/pass.h"

namespace poprt::passes {

inline constexpr size_t kNoResidual = std::numeric_limits<size_t>::max();

// Merges an activation node into the internal operator `op_type` (domain poprt) that produces its
// input, if the input has no other reader and the operator no activation yet. Returns whether it
// did; if so, `node` is erased.
bool fuse_activation(ir::Node& node, std::string_view op_type, PassContext& context);

// Merges an Add into the internal operator that produces one operand, if this operator has no other
// reader and no residual yet. The other operand, which must have exactly the shape of the result,
// becomes input `residual_input`. Returns whether it did; if so, `add` is erased.
bool fuse_residual(ir::Node& add, std::string_view op_type, size_t residual_input,
                   PassContext& context);

// Whether the operator has neither an activation nor a residual, so that a constant can still be
// added to its bias.
bool can_take_bias(const ir::Node& node, size_t residual_input);

// Moves the internal operator to the position of `node`, the last reader of its result, and makes
// it produce the result of `node`.
void absorb(ir::Node& op, ir::Node& node);

}  // namespace poprt::passes

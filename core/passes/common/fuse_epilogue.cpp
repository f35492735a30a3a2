#include "passes/common/fuse_epilogue.h"

#include "ops/common/fused_activation.h"
#include "ops/facts.h"
#include "passes/common/rewrite.h"

namespace poprt::passes {

using ir::Node;
using ir::Value;

void absorb(Node& op, Node& node) {
  node.graph().move_before(&op, &node);
  replace_node(node, op.output());
}

bool can_take_bias(const Node& n, size_t residual_input) {
  return n.string_attr("activation", "").empty() &&
         (residual_input == kNoResidual || !n.input(residual_input));
}

bool fuse_activation(Node& node, std::string_view op_type, PassContext& context) {
  if (node.inputs().empty()) return false;
  Node* op = sole_producer_of(node.input(0), op_type, "poprt");
  if (!op || !op->string_attr("activation", "").empty()) return false;
  const auto hook = ops::facts_of(node).epilogue;
  const auto epilogue = hook ? hook(node) : std::nullopt;
  if (!epilogue || op->output()->dtype() != node.output()->dtype() || !context.allow())
    return false;
  op->attributes["activation"] = std::string(ops::activation_name(epilogue->activation));
  op->attributes["alpha"] = epilogue->alpha;
  op->attributes["beta"] = epilogue->beta;
  absorb(*op, node);
  return true;
}

bool fuse_residual(Node& add, std::string_view op_type, size_t residual_input,
                   PassContext& context) {
  if (!add.is("Add") || add.input(0) == add.input(1)) return false;
  // If both operands are candidates, operand 1 is taken. The operator is moved to the Add, where
  // the other operand is already computed.
  for (const size_t side : {size_t{1}, size_t{0}}) {
    Node* op = sole_producer_of(add.input(side), op_type, "poprt");
    Value* residual = add.input(1 - side);
    if (!op || op->input(residual_input) || residual->dtype() != op->output()->dtype() ||
        !same_static_shape(residual, add.output()) ||
        !same_static_shape(op->output(), add.output()))
      continue;
    if (!context.allow()) return false;
    const bool after = !op->string_attr("activation", "").empty();
    op->attributes["residual_after_activation"] = static_cast<int64_t>(after);
    add.graph().move_before(op, &add);
    op->set_input(residual_input, residual);
    absorb(*op, add);
    return true;
  }
  return false;
}

}  // namespace poprt::passes

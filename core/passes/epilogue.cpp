#include "passes/epilogue.h"

#include "passes/rewrite.h"

namespace poprt::passes {

using ir::Node;
using ir::Value;

std::optional<Epilogue> activation_of(const Node& n) {
  if (n.is("Relu")) return Epilogue{"relu"};
  if (n.is("Sigmoid")) return Epilogue{"sigmoid"};
  if (n.is("Tanh")) return Epilogue{"tanh"};
  if (n.is("HardSwish")) return Epilogue{"hard_swish"};
  if (n.is("LeakyRelu")) return Epilogue{"leaky_relu", n.float_attr("alpha", 0.01f)};
  if (n.is("Elu")) return Epilogue{"elu", n.float_attr("alpha", 1.0f)};
  if (n.is("HardSigmoid"))
    return Epilogue{"hard_sigmoid", n.float_attr("alpha", 0.2f), n.float_attr("beta", 0.5f)};
  if (n.is("Silu", "poprt")) return Epilogue{"silu", n.float_attr("alpha", 1.0f)};
  if (n.is("Gelu", "poprt") || n.is("Gelu"))
    return Epilogue{n.string_attr("approximate", "none") == "tanh" ? "gelu_tanh" : "gelu_erf"};
  if (n.is("PRelu")) {
    const auto slope = const_scalar(n.input(1));
    if (!slope) return std::nullopt;
    return Epilogue{"leaky_relu", static_cast<float>(*slope)};
  }
  if (n.is("Clip")) {
    float low = n.float_attr("min", std::numeric_limits<float>::lowest());
    float high = n.float_attr("max", std::numeric_limits<float>::max());
    for (size_t i = 1; i <= 2; i++) {
      if (!n.input(i)) continue;
      const auto bound = const_scalar(n.input(i));
      if (!bound) return std::nullopt;
      (i == 1 ? low : high) = static_cast<float>(*bound);
    }
    if (low == 0 && high == std::numeric_limits<float>::max()) return Epilogue{"relu"};
    return Epilogue{"clip", low, high};
  }
  return std::nullopt;
}

void absorb(Node& op, Node& node) {
  node.graph().move_before(&op, &node);
  replace_node(node, op.output());
}

bool takes_bias(const Node& n, size_t residual_input) {
  return n.string_attr("activation", "").empty() &&
         (residual_input == kNoResidual || !n.input(residual_input));
}

bool fuse_activation(Node& node, std::string_view op_type, PassContext& context) {
  if (node.inputs().empty()) return false;
  Node* op = sole_producer_of(node.input(0), op_type, "poprt");
  if (!op || !op->string_attr("activation", "").empty()) return false;
  const auto epilogue = activation_of(node);
  if (!epilogue || op->output()->dtype() != node.output()->dtype() || !context.allow())
    return false;
  op->attributes["activation"] = epilogue->activation;
  op->attributes["alpha"] = epilogue->alpha;
  op->attributes["beta"] = epilogue->beta;
  absorb(*op, node);
  return true;
}

bool fuse_residual(Node& add, std::string_view op_type, size_t residual_input,
                   PassContext& context) {
  if (!add.is("Add") || add.input(0) == add.input(1)) return false;
  // The later of two candidates: the other one is ready by then.
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

#include "ops/common/experts.h"

#include "ir/newest.h"
#include "ops/common/dimension.h"

namespace poprt::ops {

using ir::Value;

namespace {

std::string activation_of(const Expansion& e) {
  return e.node.string_attr("activation_type", "relu");
}

Value* gelu(Expansion& e, Value* x) {
  return e.newest("Gelu", {x}, {{"approximate", std::string("tanh")}});
}

Value* plain_activation(Expansion& e, Value* x) {
  const std::string name = activation_of(e);
  if (name == "identity") return x;
  if (name == "relu") return e.add("Relu", {x});
  if (name == "relu2") {
    Value* y = e.add("Relu", {x});
    return e.add("Mul", {y, y});
  }
  if (name == "gelu") return gelu(e, x);
  if (name == "silu") return e.add("Mul", {x, e.add("Sigmoid", {x})});
  e.fail_unsupported(
      "activation_type '{}', expected relu, relu2, gelu, silu, identity, swiglu or geglu", name);
}

// The product of the activated gate and the value, for activation_type swiglu or geglu.
Value* gated_activation(Expansion& e, Value* gate, Value* value) {
  const ir::Node& n = e.node;
  if (activation_of(e) == "geglu") return e.add("Mul", {gelu(e, gate), value});
  const DType type = gate->dtype();
  const bool limited = n.find_attr("swiglu_limit") != nullptr;
  const bool after = n.int_attr("swiglu_limit_after_activation", 0) != 0;
  const auto limit = static_cast<double>(n.float_attr("swiglu_limit", 0));
  const auto at_most = [&](Value* v) { return e.add("Min", {v, e.number(type, limit)}); };
  if (limited) {
    if (!after) gate = at_most(gate);
    value = e.add("Max", {at_most(value), e.number(type, -limit)});
  }
  Value* scaled = e.scaled(gate, static_cast<double>(n.float_attr("activation_alpha", 1)));
  Value* y = e.add("Mul", {gate, e.add("Sigmoid", {scaled})});
  if (limited && after) y = at_most(y);
  return e.add("Mul", {y, e.plus(value, static_cast<double>(n.float_attr("activation_beta", 0)))});
}

// Applies a layer of the chosen experts [rows * share] to x [rows, n].
Value* layer(Expansion& e, Value* x, const ExpertLayer& l, Value* chosen, int64_t share) {
  const Shape w = e.shape_of(l.weights);
  e.check(w.size() == 3 && w[2] == e.shape_of(x)[1],
          "the weights of an expert do not fit its input");
  Value* y =
      e.add_node("ExpertRows", "poprt", {x, l.weights, chosen}, {{"share", share}}, 1)->output();
  if (!l.bias) return y;
  e.check(e.shape_of(l.bias) == Shape{w[0], w[1]}, "a bias must be [experts, columns]");
  return e.add("Add", {y, e.add("Gather", {l.bias, chosen})});
}

// The results [rows * top, hidden] of the chosen experts.
Value* networks(Expansion& e, const ExpertsCall& call, Value* chosen, int64_t top) {
  Value* h = layer(e, call.x, call.fc1, chosen, top);
  const auto third = [&] { return layer(e, call.x, call.fc3, chosen, top); };
  const std::string name = activation_of(e);
  if (!has_fused_gate(e)) {
    if (name != "swiglu" && name != "geglu") {
      h = plain_activation(e, h);
      // Without a gating activation, the third layer multiplies the activated first one.
      if (call.fc3.weights) h = e.add("Mul", {h, third()});
    } else {
      e.check(call.fc3.weights != nullptr, "swiglu_fusion 0 requires fc3_experts_weights");
      h = gated_activation(e, h, third());
    }
    return layer(e, h, call.fc2, chosen, 1);
  }
  e.check(!call.fc3.weights, "fc3_experts_weights must be absent if swiglu_fusion is not 0");
  const Shape s = e.shape_of(h);
  e.check(s[1] % 2 == 0, "the first layer must contain gate and value");
  const int64_t size = s[1] / 2, fusion = e.node.int_attr("swiglu_fusion", 0);
  if (fusion != 1 && fusion != 2) e.fail_unsupported("swiglu_fusion {}, expected 0 to 2", fusion);
  const auto half = [&](int64_t i) {
    if (fusion == 2) return e.slice(h, 1, i * size, (i + 1) * size);
    return e.reshape(e.slice(e.reshape(h, {s[0], size, 2}), 2, i, i + 1), {s[0], size});
  };
  return layer(e, gated_activation(e, half(0), half(1)), call.fc2, chosen, 1);
}

}  // namespace

bool has_fused_gate(const Expansion& e) {
  const std::string name = activation_of(e);
  return (name == "swiglu" || name == "geglu") && e.node.int_attr("swiglu_fusion", 0) != 0;
}

Routed route(Expansion& e, Value* logits, int64_t rows, int64_t experts) {
  e.check(e.shape_of(logits) == Shape{rows, experts}, "router_probs must be [rows, experts]");
  const int64_t top = e.node.int_attr("k", 1);
  e.check(top >= 1 && top <= experts, "k must be in 1 to the number of experts");
  const ir::Node* n =
      e.add_node("TopK", ir::kNewestDomain, {logits, e.ints({top})}, {{"axis", int64_t{1}}}, 2);
  return {n->output(0), n->output(1)};
}

Value* apply_experts(Expansion& e, const ExpertsCall& call) {
  const Shape x = e.shape_of(call.x);
  const int64_t rows = x[0], hidden = x[1], top = e.shape_of(call.chosen)[1];
  Value* y = networks(e, call, e.reshape(call.chosen, {rows * top}), top);
  e.check(e.shape_of(y)[1] == hidden, "the second layer must return the columns of the input");
  y = e.add("MatMul", {e.reshape(call.shares, {rows, 1, top}), e.reshape(y, {rows, top, hidden})});
  return e.reshape(y, {rows, hidden});
}

}  // namespace poprt::ops

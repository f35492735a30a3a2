// Merges poprt.QLinearConv -> DequantizeLinear -> Add (-> Relu) -> QuantizeLinear into one
// poprt.QLinearConv with a residual, if the other operand of Add is dequantised bytes, too. Before
// that, merges Max and Min with a constant byte into the convolution.
#include "ops/common/quantized_conv.h"
#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::quantized_residual_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr size_t kInputs = 9;  // of a QLinearConv without a residual

// Returns the DequantizeLinear that produces `v`, if it has a scale and a zero point.
const Node* dequantized(const Value* v) {
  const Node* d = ir::producer_if(v, "DequantizeLinear");
  return d && d->input(2) && v->dtype() == DType::f32 ? d : nullptr;
}

// Returns the convolution whose bytes only `d` reads, if `d` has one reader.
Node* sole_convolution(const Node* d) {
  if (!d || !ir::single_use(d->output()) || !ir::single_use(d->input(0))) return nullptr;
  Node* conv = ir::producer_if(d->input(0), "QLinearConv", "poprt");
  if (!conv || conv->inputs().size() > kInputs || !conv->input(6) || !conv->input(7))
    return nullptr;
  // The bytes must be dequantised with the scale and zero point with which they were quantised.
  const auto same = [](const Value* a, const Value* b) {
    const auto x = ir::const_scalar(a), y = ir::const_scalar(b);
    return x && y && *x == *y;
  };
  return same(conv->input(6), d->input(1)) && same(conv->input(7), d->input(2)) ? conv : nullptr;
}

void rewrite(Node& q, PassContext& context) {
  if (!q.is("QuantizeLinear") || !q.input(2) || q.int_attr("precision", 0) > 1) return;
  Value* real = q.input(0);
  const Node* relu = ir::producer_if(real, "Relu");
  if (relu) {
    if (!ir::single_use(real)) return;
    real = relu->input(0);
  }
  const Node* add = ir::producer_if(real, "Add");
  if (!add || !ir::single_use(real) || add->input(0) == add->input(1)) return;
  for (size_t i = 0; i < 2; i++) {
    const Node *d = dequantized(add->input(i)), *other = dequantized(add->input(1 - i));
    Node* conv = sole_convolution(d);
    if (!conv || !other || other->input(0)->shape() != d->input(0)->shape()) continue;
    std::vector<Value*> inputs(conv->inputs().begin(), conv->inputs().end());
    inputs.resize(kInputs);
    inputs.insert(inputs.end(),
                  {other->input(0), other->input(1), other->input(2), q.input(1), q.input(2)});
    Node* made = q.graph().add_node("QLinearConv", "poprt", inputs, 1, &q);
    made->name = conv->name;
    made->attributes = conv->attributes;
    if (relu) made->attributes["activation"] = std::string("Relu");
    if (!ops::channels_last_conv_fits(*made, true) || !context.allow()) {
      q.graph().erase_node(made);
      continue;
    }
    ops::infer(*made);
    replace_node(q, made->output());
    return;
  }
}

void merge_bound(Node& n, PassContext& context) {
  const bool least = n.is("Max");
  if ((!least && !n.is("Min")) || n.inputs().size() != 2) return;
  Node* conv = sole_producer_of(n.input(0), "QLinearConv", "poprt");
  if (!conv || conv->inputs().size() > kInputs || conv->output()->dtype() != n.output()->dtype() ||
      !same_static_shape(conv->output(), n.output()))
    return;
  const auto byte = ir::const_scalar(n.input(1));
  // A Max after a Min, or a second bound of one kind, is not merged.
  if (!byte || conv->find_attr("most") || (least && conv->find_attr("least")) ||
      (!least && *byte < static_cast<double>(conv->int_attr("least", -128))) || !context.allow())
    return;
  conv->attributes[least ? "least" : "most"] = static_cast<int64_t>(*byte);
  replace_node(n, conv->output());
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) { merge_bound(n, context); });
  for_each_node(graph, [&](Node& n) { rewrite(n, context); });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "quantized_residual",
    .summary =
        "merges an addition of quantised bytes into the convolution that computes one operand, and "
        "bounds of bytes into the convolution before them",
    .condition = "both operands of Add are dequantised bytes with one scale; bounds are constant",
    .numerics = Numerics::rounding,
    .run = run,
};

}  // namespace poprt::passes::quantized_residual_pass

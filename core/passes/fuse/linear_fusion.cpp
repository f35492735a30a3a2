#include "passes/common/fuse_epilogue.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::linear_fusion_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr size_t kBias = 2, kResidual = 3;

// Returns the constant as a bias of `n` columns, multiplied by `scale`, if it is equal for every
// row.
std::optional<Tensor> as_bias(const Value* v, int64_t n, double scale = 1) {
  if (!v->is_constant() || v->dtype() != DType::f32) return std::nullopt;
  const int64_t count = v->constant().count();
  if (count != 1 && (count != n || v->shape().back() != n)) return std::nullopt;
  std::vector<double> values = v->constant().to_doubles();
  if (count == 1) values.assign(static_cast<size_t>(n), values[0]);
  for (double& x : values) x *= scale;
  return tensor_of(DType::f32, {n}, values);
}

void from_matmul(Node& n, PassContext& context) {
  Value *x = n.input(0), *w = n.input(1);
  if (!w->is_constant() || w->dtype() != DType::f32 || w->shape().size() != 2 ||
      !n.output()->type.is_static() || !x->type.is_static() || x->shape().size() < 2)
    return;
  if (!context.allow()) return;
  replace_node(n, insert_node(n, "Linear", "poprt", {x, w})->output());
}

void from_gemm(Node& n, PassContext& context) {
  Value *x = n.input(0), *w = n.input(1), *c = n.input(2);
  if (!w->is_constant() || w->dtype() != DType::f32 || !n.output()->type.is_static() ||
      n.int_attr("transA", 0) != 0)
    return;
  const double alpha = static_cast<double>(n.float_attr("alpha", 1));
  const double beta = static_cast<double>(n.float_attr("beta", 1));
  const int64_t transposed = n.int_attr("transB", 0) != 0;
  const int64_t columns = n.output()->shape()[1];
  std::optional<Tensor> bias;
  Value* residual = nullptr;
  if (c && beta != 0) {
    bias = as_bias(c, columns, beta);
    if (!bias && beta == 1 && same_static_shape(c, n.output())) residual = c;
    if (!bias && !residual) return;
  }
  if (!context.allow()) return;
  const std::string name = n.output()->name();
  if (alpha != 1) {
    std::vector<double> values = w->constant().to_doubles();
    for (double& v : values) v *= alpha;
    w = n.graph().add_constant(w->name() + "_scaled", tensor_of(DType::f32, w->shape(), values));
  }
  std::vector<Value*> inputs{x, w};
  if (bias || residual)
    inputs.push_back(bias ? n.graph().add_constant(name + "_bias", *bias) : nullptr);
  if (residual) inputs.push_back(residual);
  replace_node(n, insert_node(n, "Linear", "poprt", inputs, {{"transB", transposed}})->output());
}

// Merges a constant that is added to every row.
bool fuse_bias(Node& add, PassContext& context) {
  if (!add.is("Add")) return false;
  for (size_t side = 0; side < 2; side++) {
    Node* linear = sole_producer_of(add.input(side), "Linear", "poprt");
    if (!linear || !can_take_bias(*linear, kResidual) ||
        !same_static_shape(linear->output(), add.output()) ||
        (linear->input(kBias) && !linear->input(kBias)->is_constant()))
      continue;
    auto bias = as_bias(add.input(1 - side), linear->output()->shape().back());
    if (!bias || !context.allow()) continue;
    if (const Value* old = linear->input(kBias)) {
      const std::vector<double> more = old->constant().to_doubles();
      std::vector<double> values = bias->to_doubles();
      for (size_t i = 0; i < values.size(); i++) values[i] += more[i];
      bias = tensor_of(DType::f32, bias->shape(), values);
    }
    linear->set_input(kBias, add.graph().add_constant(add.output()->name() + "_bias", *bias));
    absorb(*linear, add);
    return true;
  }
  return false;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (n.is("MatMul")) {
      from_matmul(n, context);
    } else if (n.is("Gemm")) {
      from_gemm(n, context);
    } else if (!fuse_bias(n, context) && !fuse_residual(n, "Linear", kResidual, context)) {
      fuse_activation(n, "Linear", context);
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "linear_fusion",
    .summary = "replaces MatMul and Gemm with constant weights by poprt.Linear with an epilogue",
    .condition = "the weights are constant f32 matrices",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::linear_fusion_pass

// Merges the projections to q, k and v of one attention. They read the same rows, and one product
// of three times the width uses the threads better than three products. The attention reads its
// parts by offset.
#include <array>

#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::merge_qkv_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr std::array<const char*, 3> kOffsets = {"q_offset", "k_offset", "v_offset"};

bool is_plain_linear(const Node* n) {
  return n && n->string_attr("activation", "").empty() && !n->input(3) &&
         n->input(1)->is_constant() && (!n->input(2) || n->input(2)->is_constant());
}

// Returns the weight as [K, N] f32 for either order in memory.
Tensor columns_of(const Node& linear) {
  const Tensor& w = linear.input(1)->constant();
  if (linear.int_attr("transB", 0) == 0) return w;
  const auto n = static_cast<size_t>(w.shape()[0]), k = static_cast<size_t>(w.shape()[1]);
  Tensor t = Tensor::zeros(DType::f32, {w.shape()[1], w.shape()[0]});
  const auto from = w.values<float>();
  const auto to = t.mutable_values<float>();
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < k; j++) to[j * n + i] = from[i * k + j];
  return t;
}

void merge(Node& attention, PassContext& context) {
  std::array<Node*, 3> linears{};
  int64_t width = 0;
  bool any_bias = false;
  for (size_t i = 0; i < 3; i++) {
    linears[i] = sole_producer_of(attention.input(i), "Linear", "poprt");
    if (!is_plain_linear(linears[i]) || linears[i]->input(0) != linears[0]->input(0) ||
        linears[i]->input(1)->dtype() != DType::f32 || !attention.input(i)->type.is_static())
      return;
    width += attention.input(i)->shape().back();
    any_bias |= linears[i]->input(2) != nullptr;
  }
  if (!context.allow()) return;
  const Shape& first = linears[0]->input(1)->shape();
  const int64_t rows = first[linears[0]->int_attr("transB", 0) != 0 ? 1 : 0];
  Tensor weight = Tensor::zeros(DType::f32, {rows, width});
  Tensor bias = Tensor::zeros(DType::f32, {width});
  const auto w = weight.mutable_values<float>();
  const auto b = bias.mutable_values<float>();
  size_t column = 0;
  for (size_t i = 0; i < 3; i++) {
    const Tensor part = columns_of(*linears[i]);
    const auto values = part.values<float>();
    const auto n = static_cast<size_t>(part.shape()[1]);
    for (size_t r = 0; r < static_cast<size_t>(rows); r++)
      for (size_t c = 0; c < n; c++)
        w[r * static_cast<size_t>(width) + column + c] = values[r * n + c];
    if (const Value* old = linears[i]->input(2)) {
      const auto more = old->constant().values<float>();
      for (size_t c = 0; c < n; c++) b[column + c] = more[c];
    }
    attention.attributes[kOffsets[i]] =
        attention.int_attr(kOffsets[i], 0) + static_cast<int64_t>(column);
    column += n;
  }
  Graph& g = attention.graph();
  const std::string name = attention.output()->name();
  std::vector<Value*> inputs{linears[0]->input(0), g.add_constant(name + "_qkv_weight", weight)};
  if (any_bias) inputs.push_back(g.add_constant(name + "_qkv_bias", bias));
  Node* merged = insert_node(attention, "Linear", "poprt", inputs);
  g.rename(merged->output(), name + "_qkv");
  for (size_t i = 0; i < 3; i++) attention.set_input(i, merged->output());
  for (Node* n : linears) erase_if_dead(n);
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (n.is("Attention", "poprt")) merge(n, context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "merge_qkv",
                     .summary = "computes the three projections of an attention in one product",
                     .condition =
                         "three poprt.Linear read one value, have one attention as their only "
                         "reader, and have constant weights with the same number of rows",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::merge_qkv_pass

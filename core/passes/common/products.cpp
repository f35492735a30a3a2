#include "passes/common/products.h"

#include <algorithm>
#include <unordered_set>

#include "passes/common/build.h"

namespace poprt::passes {

using ir::Graph;
using ir::Node;
using ir::Value;

namespace {

bool is_weight(const Value* v) {
  return v->is_constant() && v->shape().size() == 2 && is_plain_float(v->dtype());
}

bool is_scale(const Node& n, size_t side) {
  return (n.is("Mul") || (n.is("Div") && side == 0)) && const_scalar(n.input(1 - side));
}

}  // namespace

Projection projection_of(Node& node) {
  Projection p;
  if (node.is("MatMul") && is_weight(node.input(1))) {
    p.matmul = &node;
  } else if (node.is("Add")) {
    for (size_t side = 0; side < 2; side++) {
      Node* product = sole_producer_of(node.input(side), "MatMul");
      Value* bias = node.input(1 - side);
      if (!product || !is_weight(product->input(1)) || !bias->is_constant() ||
          bias->dtype() != product->input(1)->dtype() ||
          bias->constant().count() != product->input(1)->shape()[1] || bias->shape().empty() ||
          bias->shape().back() != bias->constant().count() ||
          !same_static_shape(product->output(), node.output()))
        continue;
      return {product, &node, bias};
    }
  }
  return p;
}

std::optional<Projection> find_projection(Value* v) {
  while (Node* n = single_use(v) ? v->producer() : nullptr) {
    const Projection p = projection_of(*n);
    if (p.matmul) return p;
    if (n->is("Reshape") || n->is("Transpose"))
      v = n->input(0);
    else if (n->inputs().size() == 2 && is_scale(*n, 0))
      v = n->input(0);
    else if (n->inputs().size() == 2 && is_scale(*n, 1))
      v = n->input(1);
    else
      break;
  }
  return std::nullopt;
}

Node* find_scores_product(Value* v) {
  while (Node* n = single_use(v) ? v->producer() : nullptr) {
    if (n->is("MatMul")) return n;
    size_t next = n->inputs().size();
    for (size_t i = 0; i < n->inputs().size(); i++) {
      const bool scores = n->is("Add") || (n->is("Where") && i > 0) || is_scale(*n, i);
      if (scores && same_static_shape(n->input(i), v) && !n->input(i)->is_constant())
        next = std::min(next, i);
    }
    if (next == n->inputs().size()) break;
    v = n->input(next);
  }
  return nullptr;
}

std::vector<std::vector<Projection>> grouped_by_input(std::span<const Projection> all) {
  std::vector<std::vector<Projection>> groups;
  std::unordered_set<const Node*> named;
  for (const Projection& p : all) {
    if (!named.insert(p.matmul).second)
      fail(ErrorCode::invalid_argument, "{} is named twice", p.matmul->describe());
    const auto same = [&](const std::vector<Projection>& g) {
      return g[0].matmul->input(0) == p.matmul->input(0);
    };
    const auto found = std::ranges::find_if(groups, same);
    if (found == groups.end()) {
      groups.push_back({p});
      continue;
    }
    const Projection& first = found->front();
    if (&first.matmul->graph() != &p.matmul->graph())
      fail(ErrorCode::invalid_argument, "{} and {} are in different graphs and cannot be merged",
           first.matmul->describe(), p.matmul->describe());
    if (first.weight()->dtype() != p.weight()->dtype() ||
        (first.bias == nullptr) != (p.bias == nullptr))
      fail(ErrorCode::invalid_argument, "{} and {} differ in type or bias and cannot be merged",
           first.matmul->describe(), p.matmul->describe());
    if (first.weight()->shape()[0] != p.weight()->shape()[0])
      fail(ErrorCode::invalid_argument,
           "the weights of {} and {} have {} and {} rows and cannot be merged",
           first.matmul->describe(), p.matmul->describe(), first.weight()->shape()[0],
           p.weight()->shape()[0]);
    found->push_back(p);
  }
  for (const auto& g : groups)
    if (g.size() == 1)
      fail(ErrorCode::invalid_argument,
           "{} is the only named product that reads '{}', so there is no product to merge it with",
           g[0].matmul->describe(), g[0].matmul->input(0)->name());
  return groups;
}

void merge_projections(std::span<const Projection> parts) {
  Graph& graph = parts[0].matmul->graph();
  // The merged product reads only the shared input and constants, so it can be at the place of the
  // first product.
  Node* first = nullptr;
  for (Node* n : graph.nodes())
    if (!first && std::ranges::any_of(parts, [&](const Projection& p) { return p.matmul == n; }))
      first = n;
  std::vector<Tensor> weights, biases;
  std::vector<int64_t> sizes;
  for (const Projection& p : parts) {
    weights.push_back(p.weight()->constant());
    sizes.push_back(p.columns());
    if (p.bias) biases.push_back(p.bias->constant().reshaped({p.columns()}));
  }
  const std::string name = first->output()->name();
  Value* weight = graph.add_constant(name + "_merged_weight", concat_of(weights, 1));
  Value* merged = computed(*first, "MatMul", {first->input(0), weight});
  if (!biases.empty())
    merged = computed(*first, "Add",
                      {merged, graph.add_constant(name + "_merged_bias", concat_of(biases, 0))});
  const auto axis = static_cast<int64_t>(merged->shape().size()) - 1;
  const std::vector<Value*> results = split_into(*first, merged, sizes, axis);
  for (size_t i = 0; i < parts.size(); i++)
    replace_outputs(parts[i].last(), std::span(&results[i], 1));
}

}  // namespace poprt::passes

#include "passes/common/byte_values.h"

#include <algorithm>

#include "ops/op.h"
#include "passes/common/byte_weights.h"
#include "passes/common/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Node;
using ir::Value;

// The value after the Relus and Clips that follow `v`, each the only reader of the value before it;
// `v` if there is none.
Value* after_bounds(Value* v) {
  for (const Node* n = ir::single_reader(v); n && &n->graph() == &v->graph();
       n = ir::single_reader(v)) {
    const bool clip = n->is("Clip") && n->input(0) == v &&
                      std::ranges::all_of(n->inputs().subspan(1),
                                          [](const Value* b) { return !b || b->is_constant(); });
    if (!n->is("Relu") && !clip) break;
    v = n->output();
  }
  return v;
}

}  // namespace

bool takes_bytes(const WeightedProduct& p) {
  const Node& n = *p.node;
  if (p.data != n.input(0) || p.weight != n.input(1) || p.weight->dtype() != DType::f32 ||
      p.data->dtype() != DType::f32 || !p.data->type.is_static() || !n.output()->type.is_static() ||
      p.weight->constant().count() == 0)
    return false;
  const Shape& w = p.weight->shape();
  if (!byte_sums_fit(p.weight->constant().count() / w[static_cast<size_t>(p.output_axis)]))
    return false;
  const Value* bias = n.is("MatMul") ? nullptr : n.input(2);
  if (bias &&
      !(bias->is_constant() && bias->constant().count() == w[static_cast<size_t>(p.output_axis)]))
    return false;
  if (n.is("Conv")) return w.size() >= 3 && is_faster_on_bytes(w, n.int_attr("group", 1));
  if (n.is("Gemm") && (n.float_attr("alpha", 1) != 1 || n.float_attr("beta", 1) != 1)) return false;
  return w.size() == 2 && p.data->shape().size() >= 2;
}

ByteValues::ByteValues(ir::Graph& graph, const std::vector<WeightedProduct>& products) {
  std::set<const Value*> of_convolutions;
  for (const WeightedProduct& p : products) {
    add(p.data);
    if (!p.node->is("Conv")) continue;
    Value* result = after_bounds(p.node->output());
    add(result);
    of_convolutions.insert(result);
  }
  for (Node* n : graph.nodes()) {
    follow_sum(*n, of_convolutions);
    follow_move(*n);
    if (n->is("Concat") && !n->graph().is_output(n->output()) &&
        std::ranges::all_of(n->inputs(), [&](Value* v) { return has(v); }))
      add(n->output());
  }
}

const Value* ByteValues::source(const Value* v) const {
  for (auto found = sources_.find(v); found != sources_.end(); found = sources_.find(v))
    v = found->second;
  return v;
}

void ByteValues::add(Value* v) {
  if (v->dtype() == DType::f32 && v->type.is_static() && !v->is_constant() &&
      known_.insert(v).second)
    values_.push_back(v);
}

void ByteValues::follow_sum(Node& n, const std::set<const Value*>& of_convolutions) {
  if (!n.is("Add") || n.input(0) == n.input(1)) return;
  Value *a = n.input(0), *b = n.input(1);
  if (a->is_constant() || b->is_constant() || !same_static_shape(a, b) ||
      (!of_convolutions.contains(a) && !of_convolutions.contains(b)))
    return;
  add(a);
  add(b);
  Value* sum = after_bounds(n.output());
  if (!n.graph().is_output(sum)) add(sum);
}

// A node that only moves elements can move bytes if its input and its result have the same range,
// so the result takes the range of the input.
void ByteValues::follow_move(Node& n) {
  if (ops::facts_of(n).qdq == ops::QdqForm::none || !has(n.input(0)) || n.outputs().size() != 1 ||
      n.graph().is_output(n.output()))
    return;
  add(n.output());
  if (has(n.output())) sources_[n.output()] = n.input(0);
}

}  // namespace poprt::passes

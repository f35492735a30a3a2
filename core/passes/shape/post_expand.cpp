#include "ops/axes.h"
#include "ops/facts.h"
#include "passes/common/branches.h"
#include "passes/common/build.h"

namespace poprt::passes::post_expand_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Whether each element of output 0 is computed from the element at the same place of one operand,
// independently of the place.
bool keeps_places(const Node& n, size_t operand) {
  const ops::AxisMap map = ops::axis_map(n);
  if (ops::first_changed(map, operand)) return false;
  for (size_t d = 0; d < n.output()->shape().size(); d++)
    if (!ops::is_uniform(map, {0, d})) return false;
  return true;
}

// Returns the input that Expand produces, if the other inputs are constants of one element and the
// result has the expanded shape.
std::optional<size_t> expanded_input(const Node& n) {
  // A random operator would repeat its numbers.
  if (n.outputs().size() != 1 || !is_pure(n)) return std::nullopt;
  std::optional<size_t> found;
  for (size_t i = 0; i < n.inputs().size(); i++) {
    const Value* v = n.input(i);
    if (!v || const_scalar(v)) continue;
    const Node* expand = sole_producer_of(v, "Expand");
    if (!expand || found || !same_static_shape(v, n.output())) return std::nullopt;
    found = i;
  }
  return found;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    const auto at = expanded_input(n);
    if (!at) return;
    Node* expand = n.input(*at)->producer();
    Value *small = expand->input(0), *shape = expand->input(1);
    if (!small->type.is_static() || small->shape() == n.output()->shape()) return;
    // An attribute may name an axis that the smaller operand lacks.
    const bool fits =
        ops::facts_of(n).per_element || small->shape().size() == n.output()->shape().size();
    if (!fits || !keeps_places(n, *at) || !context.allow()) return;
    std::vector<Value*> inputs(n.inputs().begin(), n.inputs().end());
    inputs[*at] = small;
    Value* result = computed(n, "Expand", {insert_like(n, n, inputs)->output(), shape});
    replace_outputs(n, std::span(&result, 1));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "post_expand",
    .summary = "moves Expand after elementwise operators",
    .condition = "the expanded value has no other reader, and the other operands are numbers",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::post_expand_pass

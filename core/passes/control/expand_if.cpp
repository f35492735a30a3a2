#include <algorithm>

#include "ops/facts.h"
#include "passes/common/branches.h"
#include "passes/common/build.h"

namespace poprt::passes::expand_if_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Whether an input that is computed at run time may have values for which the node fails, such as
// an index beyond the end of a dimension. The condition of the If may exclude these values.
bool may_fail(const Node& n) {
  const ops::Facts& facts = ops::facts_of(n);
  const uint32_t decides = facts.shape_inputs | ops::constant_inputs(n);
  const bool all_data = facts.per_element || facts.source == ops::ElementSource::joined;
  for (size_t i = 0; i < n.inputs().size(); i++) {
    const Value* v = n.input(i);
    if (!v || v->is_constant()) continue;
    const bool is_index = i > 0 && (v->dtype() == DType::s64 || v->dtype() == DType::s32);
    if (ops::in_mask(decides, i) || (is_index && !all_data)) return true;
  }
  return false;
}

bool may_run_always(const Graph& branch) {
  return std::ranges::all_of(branch.nodes(),
                             [](const Node* n) { return is_pure(*n) && !may_fail(*n); });
}

// Whether Where can select between the whole tensors: they have one type and static shape.
bool selectable(const Value* a, const Value* b) {
  return same_static_shape(a, b) && a->dtype() == b->dtype() &&
         (is_plain_float(a->dtype()) || is_integer(a->dtype()) || a->dtype() == DType::boolean);
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("If") || !n.input(0)->type.is_static()) return;
    const auto then = branch_of(n, "then_branch"), other = branch_of(n, "else_branch");
    if (!then || !other || !may_run_always(*then) || !may_run_always(*other)) return;
    for (size_t i = 0; i < n.outputs().size(); i++)
      if (!selectable(then->outputs()[i], other->outputs()[i])) return;
    if (!context.allow()) return;
    const std::vector<Value*> taken = inline_graph(*then, n.graph(), &n);
    const std::vector<Value*> left = inline_graph(*other, n.graph(), &n);
    Value* condition = reshaped(n, n.input(0), {});
    std::vector<Value*> results;
    for (size_t i = 0; i < taken.size(); i++)
      results.push_back(computed(n, "Where", {condition, taken[i], left[i]}));
    replace_outputs(n, results);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "expand_if",
    .summary = "computes both branches of an If and selects the results with Where",
    .condition =
        "the branches depend on their inputs only, have no subgraphs, indices and sizes in them "
        "are constant, and their results have one type and static shape",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::expand_if_pass

#include "ops/axes.h"
#include "ops/common/expansion.h"
#include "passes/common/build.h"

namespace poprt::passes::indices_workaround_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

bool counts_from_begin(const Value* indices) {
  const Node* where = producer_if(indices, "Where");
  const Node* less = where ? producer_if(where->input(0), "Less") : nullptr;
  return less && less->input(0) == where->input(2) && is_scalar(less->input(1), 0);
}

// Converts negative indices, which count from the end, to nonnegative ones.
Value* from_begin(Node& n, Value* indices, int64_t size) {
  Graph& g = n.graph();
  if (indices->is_constant()) {
    std::vector<double> values = indices->constant().to_doubles();
    bool any = false;
    for (double& x : values)
      if (x < 0) x += static_cast<double>(size), any = true;
    if (!any) return nullptr;
    return g.add_constant(indices->name() + "_positive",
                          tensor_of(indices->dtype(), indices->shape(), values));
  }
  if (counts_from_begin(indices)) return nullptr;
  Value* zero = add_scalar(g, indices->name() + "_zero", indices->dtype(), 0);
  Value* count =
      add_scalar(g, indices->name() + "_size", indices->dtype(), static_cast<double>(size));
  Value* wrapped = computed(n, "Add", {indices, count});
  return computed(n, "Where", {computed(n, "Less", {indices, zero}), wrapped, indices});
}

// The axis of the data along which the indices select: the axis that is mixed. Indices of an
// unknown shape are treated as one index with the rank of the data, which GatherElements requires.
std::optional<size_t> indexed_axis(const Node& n) {
  const auto graph = ops::isolate(n);
  const Node& alone = *graph->nodes().front();
  ir::ValueType& type = alone.input(1)->type;
  if (!type.is_static()) type = ir::ValueType::of(type.dtype, Shape(n.input(0)->shape().size(), 1));
  const auto mixed = ops::mixed_axes(ops::axis_map(alone), 0);
  return mixed.size() == 1 ? std::optional(mixed[0]) : std::nullopt;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if ((!n.is("Gather") && !n.is("GatherElements")) || !n.input(0)->type.is_static()) return;
    const auto axis = indexed_axis(n);
    if (!axis || context.rewrites_done >= context.rewrite_limit) return;
    Value* indices = from_begin(n, n.input(1), n.input(0)->shape()[*axis]);
    if (indices && context.allow()) n.set_input(1, indices);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "indices_workaround",
    .summary = "makes negative indices of Gather and GatherElements nonnegative",
    .condition = "the data has a static shape; constants without negative indices stay",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::indices_workaround_pass

#include "ops/axes.h"
#include "passes/common/build.h"

namespace poprt::passes::replace_half_reducemean_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  constexpr int64_t kAxesInput = 13;
  for_each_node(graph, [&](Node& n) {
    if (!n.is("ReduceMean") || n.output()->dtype() != DType::f16 || !n.input(0)->type.is_static())
      return;
    const auto reduced = ops::reduced_axes(ops::axis_map(n), 0);
    const std::vector<int64_t> axes(reduced.begin(), reduced.end());
    double count = 1;
    for (const size_t a : reduced) count *= static_cast<double>(n.input(0)->shape()[a]);
    if (axes.empty() || count == 0 || !context.allow()) return;
    const int64_t keep = n.int_attr("keepdims", 1);
    const Node* sum =
        n.opset() < kAxesInput
            ? insert_node(n, "ReduceSum", "", {n.input(0)}, {{"axes", axes}, {"keepdims", keep}})
            : insert_node(n, "ReduceSum", "",
                          {n.input(0), add_ints(n.graph(), n.output()->name() + "_axes", axes)},
                          {{"keepdims", keep}});
    Value* part = add_scalar(n.graph(), n.output()->name() + "_part", DType::f16, 1 / count);
    Value* result = computed(n, "Mul", {sum->output(), part});
    replace_outputs(n, std::span(&result, 1));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "replace_half_reducemean",
                     .summary = "replaces ReduceMean of f16 by ReduceSum and Mul",
                     .condition = "constant axes; the sum must be in the range of f16",
                     .numerics = Numerics::rounding,
                     .run = run};

}  // namespace poprt::passes::replace_half_reducemean_pass

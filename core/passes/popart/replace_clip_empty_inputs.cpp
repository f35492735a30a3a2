#include <limits>

#include "passes/common/build.h"

namespace poprt::passes::replace_clip_empty_inputs_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  constexpr int64_t kBoundInputs = 11;
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Clip") || n.opset() < kBoundInputs || (n.input(1) && n.input(2))) return;
    const DType dtype = n.input(0)->dtype();
    if ((!is_plain_float(dtype) && !is_integer(dtype)) || !context.allow()) return;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    // For integers, the bound is the smallest or largest number of the type.
    for (size_t i = 1; i <= 2; i++)
      if (!n.input(i))
        n.set_input(i, add_scalar(n.graph(), n.output()->name() + (i == 1 ? "_min" : "_max"), dtype,
                                  i == 1 ? -kInfinity : kInfinity));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "replace_clip_empty_inputs",
    .summary = "adds missing bounds to Clip: infinities, or the limits of the integer type",
    .condition = "since opset 11, which has the bounds as inputs",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::replace_clip_empty_inputs_pass

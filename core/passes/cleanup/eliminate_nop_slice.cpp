#include <algorithm>

#include "passes/common/bypass.h"

namespace poprt::passes::eliminate_nop_slice_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

Value* unchanged(const Node& n) {
  if (!same_static_shape(n.input(0), n.output())) return nullptr;
  // With positive steps, a result of the same size contains every element in order. A negative step
  // would reverse them.
  const auto steps = const_ints(n.input(4));
  if (n.input(4) && !steps) return nullptr;
  if (steps && std::any_of(steps->begin(), steps->end(), [](int64_t s) { return s < 0; }))
    return nullptr;
  return n.input(0);
}

void run(Graph& graph, PassContext& context) {
  bypass_unchanged(graph, context, "Slice", unchanged);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "eliminate_nop_slice",
    .summary = "removes Slice that copies its input",
    .condition = "the input and the result have one static shape, and no step is negative",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::eliminate_nop_slice_pass

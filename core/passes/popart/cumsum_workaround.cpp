#include <limits>

#include "passes/common/build.h"

namespace poprt::passes::cumsum_workaround_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Shifts the elements by one along the axis, towards its start if `to_begin`, else towards its end,
// and fills the free place with 0.
Value* shifted(Node& at, Value* x, int64_t axis, bool to_begin) {
  const int64_t size = x->shape()[static_cast<size_t>(axis)];
  Shape one = x->shape();
  one[static_cast<size_t>(axis)] = 1;
  Value* zero = at.graph().add_constant(x->name() + "_zero", Tensor::zeros(x->dtype(), one));
  if (size == 1) return zero;
  Value* rest = to_begin ? sliced(at, x, axis, 1, size) : sliced(at, x, axis, 0, size - 1);
  return joined(at, to_begin ? std::vector<Value*>{rest, zero} : std::vector<Value*>{zero, rest},
                axis);
}

Value* reversed(Node& at, Value* x, int64_t axis) {
  return sliced(at, x, axis, -1, std::numeric_limits<int32_t>::min(), -1);
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("CumSum") || !n.input(0)->type.is_static() || n.input(0)->shape().empty()) return;
    const auto given = const_scalar(n.input(1));
    if (!given) return;
    const bool exclusive = n.int_attr("exclusive", 0) != 0, reverse = n.int_attr("reverse", 0) != 0;
    Value* x = n.input(0);
    const auto axis =
        normalize_axis(static_cast<int64_t>(*given), static_cast<int64_t>(x->shape().size()));
    const bool plain = !exclusive && !reverse && static_cast<double>(axis) == *given;
    if (plain || x->shape()[static_cast<size_t>(axis)] == 0 || !context.allow()) return;
    if (exclusive) x = shifted(n, x, axis, reverse);
    if (reverse) x = reversed(n, x, axis);
    Value* at =
        add_scalar(n.graph(), n.output()->name() + "_axis", DType::s32, static_cast<double>(axis));
    Value* result = computed(n, "CumSum", {x, at});
    if (reverse) result = reversed(n, result, axis);
    replace_outputs(n, std::span(&result, 1));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "cumsum_workaround",
                     .summary =
                         "replaces exclusive and reverse CumSum by inclusive forward CumSum along "
                         "a nonnegative axis, between nodes that shift and reverse the elements",
                     .condition = "the axis is constant and the shape static",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::cumsum_workaround_pass

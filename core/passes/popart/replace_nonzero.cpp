#include "passes/common/build.h"

namespace poprt::passes::replace_nonzero_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("NonZero") || !n.input(0)->type.is_static() || !n.output()->type.is_static()) return;
    const Shape& x = n.input(0)->shape();
    if (x.size() != 1 || n.output()->shape() != Shape{1, 1} || !context.allow()) return;
    Value* zero = n.input(0)->dtype() == DType::boolean
                      ? nullptr
                      : add_scalar(n.graph(), n.output()->name() + "_zero", n.input(0)->dtype(), 0);
    Value* is_zero =
        zero ? computed(n, "Equal", {n.input(0), zero}) : computed(n, "Not", {n.input(0)});
    Value* set = cast_to(n, computed(n, "Not", {is_zero}), DType::s32);
    Value* at =
        insert_node(n, "ArgMax", "", {set}, {{"axis", int64_t{0}}, {"keepdims", int64_t{1}}})
            ->output();
    Value* result = reshaped(n, at, {1, 1});
    replace_outputs(n, std::span(&result, 1));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "replace_nonzero",
    .summary = "replaces NonZero of a vector with one nonzero element by ArgMax",
    .condition = "the input is a vector, and the model declares a result of shape [1, 1]",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::replace_nonzero_pass

#include "base/onnx_dtype.h"
#include "passes/common/build.h"

namespace poprt::passes::replace_castlike_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("CastLike") || n.input(1)->dtype() == DType::undefined) return;
    const auto to = onnx_from_dtype(n.input(1)->dtype());
    if (!to || !context.allow()) return;
    Node* cast = n.graph().add_node("Cast", "", {n.input(0)}, 1, &n);
    cast->attributes = n.attributes;
    cast->attributes["to"] = int64_t{*to};
    cast->name = n.name;
    cast->output()->type = n.output()->type;
    replace_node(n, cast->output());
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "replace_castlike",
                     .summary = "replaces CastLike by Cast",
                     .condition = "the type of the second input is known",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::replace_castlike_pass

#include "passes/common/bypass.h"

namespace poprt::passes::eliminate_nop_cast_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

Value* unchanged(const Node& n) {
  Value* x = n.input(0);
  return x->dtype() != DType::undefined && x->dtype() == n.output()->dtype() ? x : nullptr;
}

void run(Graph& graph, PassContext& context) {
  bypass_unchanged(graph, context, "Cast", unchanged);
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "eliminate_nop_cast",
                     .summary = "removes Cast to the type that the value already has",
                     .condition = "the type is known and the same",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_nop_cast_pass

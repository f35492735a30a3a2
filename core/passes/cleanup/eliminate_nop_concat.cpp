#include "passes/common/bypass.h"

namespace poprt::passes::eliminate_nop_concat_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

Value* unchanged(const Node& n) { return n.inputs().size() == 1 ? n.input(0) : nullptr; }

void run(Graph& graph, PassContext& context) {
  bypass_unchanged(graph, context, "Concat", unchanged);
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "eliminate_nop_concat",
                     .summary = "removes Concat of one value",
                     .condition = "one input is left",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_nop_concat_pass

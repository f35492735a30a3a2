#include "passes/common/bypass.h"

namespace poprt::passes::eliminate_nop_split_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

Value* unchanged(const Node& n) { return n.outputs().size() == 1 ? n.input(0) : nullptr; }

void run(Graph& graph, PassContext& context) {
  bypass_unchanged(graph, context, "Split", unchanged);
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "eliminate_nop_split",
                     .summary = "removes Split into one part",
                     .condition = "one output",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_nop_split_pass

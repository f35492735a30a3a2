#include "passes/common/bypass.h"

namespace poprt::passes::eliminate_identity_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

Value* unchanged(const Node& n) { return n.input(0); }

void run(Graph& graph, PassContext& context) {
  bypass_unchanged(graph, context, "Identity", unchanged);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "eliminate_identity",
    .summary = "removes Identity nodes",
    .condition = "the value and its copy are not both inputs or outputs of the graph",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::eliminate_identity_pass

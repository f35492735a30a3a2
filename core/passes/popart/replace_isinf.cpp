#include "passes/common/build.h"

namespace poprt::passes::replace_isinf_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  replace_each_with_graphcore(graph, context, "IsInf", "IsInfV2");
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "replace_isinf",
                     .summary = "replaces IsInf by ai.graphcore.IsInfV2 with the same attributes",
                     .condition = "none",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::replace_isinf_pass

#include "passes/common/build.h"

namespace poprt::passes::replace_round_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  replace_each_with_graphcore(graph, context, "Round", "RoundV2");
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "replace_round",
                     .summary = "replaces Round by ai.graphcore.RoundV2; both round ties to even",
                     .condition = "none",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::replace_round_pass

#include "passes/common/build.h"

namespace poprt::passes::replace_erf_with_erfv2_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  replace_each_with_graphcore(graph, context, "Erf", "ErfV2");
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "replace_erf_with_erfv2",
    .summary = "makes ai.graphcore.ErfV2 of Erf, faster and less exact on the chip, the same here",
    .condition = "none",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::replace_erf_with_erfv2_pass

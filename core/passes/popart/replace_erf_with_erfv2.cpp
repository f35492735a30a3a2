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
const PassDef def = {.name = "replace_erf_with_erfv2",
                     .summary =
                         "replaces Erf by ai.graphcore.ErfV2, which is faster and less exact on "
                         "the chip and equal here",
                     .condition = "none",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::replace_erf_with_erfv2_pass

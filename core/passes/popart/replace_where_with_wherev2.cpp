#include "passes/common/build.h"

namespace poprt::passes::replace_where_with_wherev2_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  replace_each_with_graphcore(graph, context, "Where", "WhereV2");
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "replace_where_with_wherev2",
                     .summary = "replaces Where by ai.graphcore.WhereV2, which is equal here",
                     .condition = "none",
                     .numerics = Numerics::exact,
                     .run = run,
                     .against = {"replace_where_with_mul_add"}};

}  // namespace poprt::passes::replace_where_with_wherev2_pass

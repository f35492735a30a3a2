#include "passes/common/bypass.h"

namespace poprt::passes::eliminate_nop_expand_pass {
namespace {

void run(ir::Graph& graph, PassContext& context) {
  bypass_unchanged(graph, context, "Expand", input_of_same_shape);
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "eliminate_nop_expand",
                     .summary = "removes Expand to the shape that the value already has",
                     .condition = "shapes are static and the same",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_nop_expand_pass

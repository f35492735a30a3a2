#include "passes/common/bypass.h"

namespace poprt::passes::eliminate_nop_flatten_pass {
namespace {

void run(ir::Graph& graph, PassContext& context) {
  bypass_unchanged(graph, context, "Flatten", input_of_same_shape);
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "eliminate_nop_flatten",
                     .summary = "removes Flatten of a matrix to itself",
                     .condition = "shapes are static and the same",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_nop_flatten_pass

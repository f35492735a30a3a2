#include "passes/bypass.h"

namespace poprt::passes {
namespace {

void run(ir::Graph& graph, PassContext& context) {
  bypass_unchanged(graph, context, "Flatten", input_of_same_shape);
}

}  // namespace

extern const PassDef eliminate_nop_flatten_pass;
const PassDef eliminate_nop_flatten_pass = {.name = "eliminate_nop_flatten",
                                            .summary = "removes Flatten of a matrix to itself",
                                            .condition = "shapes are static and the same",
                                            .numerics = Numerics::exact,
                                            .run = run};

}  // namespace poprt::passes

#include "passes/common/bypass.h"

namespace poprt::passes::eliminate_nop_tile_pass {
namespace {

void run(ir::Graph& graph, PassContext& context) {
  bypass_unchanged(graph, context, "Tile", input_of_same_shape);
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "eliminate_nop_tile",
                     .summary = "removes Tile that repeats once",
                     .condition = "the input and the result have one static shape",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_nop_tile_pass

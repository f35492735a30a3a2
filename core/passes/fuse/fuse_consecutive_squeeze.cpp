#include "passes/common/consecutive_axes.h"

namespace poprt::passes::fuse_consecutive_squeeze_pass {
namespace {

void run(ir::Graph& graph, PassContext& context) {
  merge_consecutive_axes(graph, context, "Squeeze");
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "fuse_consecutive_squeeze",
                     .summary = "merges Squeeze of a Squeeze",
                     .condition = "the intermediate value has no other reader",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::fuse_consecutive_squeeze_pass

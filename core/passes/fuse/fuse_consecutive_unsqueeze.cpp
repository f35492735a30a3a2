#include "passes/common/consecutive_axes.h"

namespace poprt::passes::fuse_consecutive_unsqueeze_pass {
namespace {

void run(ir::Graph& graph, PassContext& context) {
  merge_consecutive_axes(graph, context, "Unsqueeze");
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "fuse_consecutive_unsqueeze",
                     .summary = "merges Unsqueeze of an Unsqueeze",
                     .condition = "the intermediate value has no other reader",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::fuse_consecutive_unsqueeze_pass

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
                     .condition =
                         "the ranks are known and the axes are constant; other readers of the "
                         "intermediate value keep it",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::fuse_consecutive_unsqueeze_pass

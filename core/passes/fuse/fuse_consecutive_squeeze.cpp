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
                     .condition =
                         "the ranks are known and the axes are constant; other readers of the "
                         "intermediate value keep it",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::fuse_consecutive_squeeze_pass

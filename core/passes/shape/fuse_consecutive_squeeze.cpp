#include "passes/consecutive_axes.h"

namespace poprt::passes {
namespace {

void run(ir::Graph& graph, PassContext& context) {
  merge_consecutive_axes(graph, context, "Squeeze");
}

}  // namespace

extern const PassDef fuse_consecutive_squeeze_pass;
const PassDef fuse_consecutive_squeeze_pass = {.name = "fuse_consecutive_squeeze",
                                               .summary = "merges Squeeze of a Squeeze",
                                               .condition = "the value between has no other reader",
                                               .numerics = Numerics::exact,
                                               .run = run};

}  // namespace poprt::passes

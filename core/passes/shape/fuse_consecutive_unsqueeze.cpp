#include "passes/consecutive_axes.h"

namespace poprt::passes {
namespace {

void run(ir::Graph& graph, PassContext& context) {
  merge_consecutive_axes(graph, context, "Unsqueeze");
}

}  // namespace

extern const PassDef fuse_consecutive_unsqueeze_pass;
const PassDef fuse_consecutive_unsqueeze_pass = {
    .name = "fuse_consecutive_unsqueeze",
    .summary = "merges Unsqueeze of an Unsqueeze",
    .condition = "the value between has no other reader",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes

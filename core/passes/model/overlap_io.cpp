#include "passes/common/rewrite.h"

namespace poprt::passes::overlap_io_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr const char* kMark = "prop.overlap_io";

// What PopART's sessions read as a mark on tensors is a line of the model's metadata here.
void run(Graph& graph, PassContext& context) {
  std::string names;
  for (const auto* list : {&graph.inputs(), &graph.outputs()})
    for (const Value* v : *list) names += (names.empty() ? "" : ",") + v->name();
  const auto mark = graph.metadata.find(kMark);
  const bool is_marked = mark != graph.metadata.end() && mark->second == names;
  if (names.empty() || is_marked || !context.allow()) return;
  graph.metadata[kMark] = names;
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "overlap_io",
    .summary =
        "marks inputs and outputs for overlapped exchange, in the model's metadata (overlap_io)",
    .condition = "none; what makes the runtime overlap transfers is option num_io_tiles",
    .run = run};

}  // namespace poprt::passes::overlap_io_pass

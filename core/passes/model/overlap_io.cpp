#include "passes/common/rewrite.h"

namespace poprt::passes::overlap_io_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr const char* kMark = "prop.overlap_io";

// PopART's sessions read a mark on tensors. Here it is an entry in the model's metadata.
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
    .condition = "none; the runtime overlaps transfers if option num_io_tiles is set",
    .run = run};

}  // namespace poprt::passes::overlap_io_pass

#include <algorithm>

#include "passes/common/rewrite.h"

namespace poprt::passes::remove_input_cast_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Whether every reader of the cast value uses it as indices.
bool only_indexes(const Value* v) {
  return !v->uses().empty() && !v->graph().is_output(v) &&
         std::ranges::all_of(v->uses(), [](const ir::Use& use) {
           return use.input == 1 && (use.node->is("Gather") || use.node->is("GatherElements") ||
                                     use.node->is("GatherND"));
         });
}

void run(Graph& graph, PassContext& context) {
  for (Value* input : graph.inputs()) {
    if (!is_plain_float(input->dtype()) || graph.is_output(input)) continue;
    Node* cast = ir::single_reader(input);
    if (!cast || !cast->is("Cast")) continue;
    const DType to = cast->output()->dtype();
    if ((to != DType::s32 && to != DType::s64) || !only_indexes(cast->output()) || !context.allow())
      continue;
    input->type.dtype = to;
    bypass(cast->output(), input);
  }
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "remove_input_cast",
    .summary = "changes the type of an input that is cast to indices to the type of the indices",
    .condition =
        "a float input has one reader, a Cast to s32 or s64 that only Gather reads, as indices; "
        "callers of the model then pass integers",
    .run = run};

}  // namespace poprt::passes::remove_input_cast_pass

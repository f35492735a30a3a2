#include "passes/common/rewrite.h"

namespace poprt::passes::add_checkpoints_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for (const std::string& name : context.names("names")) {
    Value* v = graph.find(name);
    if (!v) fail(ErrorCode::not_found, "the graph has no tensor '{}'", name);
    if (!v->producer())
      fail(ErrorCode::invalid_argument,
           "'{}' is an input or a constant of the graph and not a computed tensor", name);
    if (!graph.is_output(v) && context.allow()) graph.add_output(v);
  }
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "add_checkpoints",
                     .summary = "adds tensors to the outputs, like --checkpoints",
                     .condition = "the named tensors are computed in the main graph",
                     .run = run,
                     .parameters = {{"names", ParameterKind::names, "names of tensors", "", true}}};

}  // namespace poprt::passes::add_checkpoints_pass

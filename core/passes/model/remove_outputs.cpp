#include <algorithm>

#include "passes/common/rewrite.h"

namespace poprt::passes::remove_outputs_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for (const std::string& name : context.names("outputs")) {
    const auto& outputs = graph.outputs();
    const auto found = std::ranges::find_if(outputs, [&](Value* v) { return v->name() == name; });
    if (found == outputs.end()) {
      std::string names;
      for (const Value* v : outputs) names += (names.empty() ? "'" : ", '") + v->name() + "'";
      fail(ErrorCode::not_found, "there is no output '{}'; outputs are: {}", name, names);
    }
    if (outputs.size() == 1) fail(ErrorCode::invalid_argument, "'{}' is the only output", name);
    if (!context.allow()) return;
    Value* v = *found;
    graph.remove_output(static_cast<size_t>(found - outputs.begin()));
    if (v->producer()) erase_if_dead(v->producer());
  }
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "remove_outputs",
    .summary = "removes outputs and the nodes that only they need, like --remove_outputs",
    .condition = "the named outputs exist and another output remains",
    .run = run,
    .parameters = {{"outputs", ParameterKind::names, "names of outputs", "", true}}};

}  // namespace poprt::passes::remove_outputs_pass

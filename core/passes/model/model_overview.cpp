#include <map>

#include "passes/common/describe.h"

namespace poprt::passes::model_overview_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  if (!context.flag("use_print")) return;
  std::map<std::string, size_t> operators;
  size_t nodes = 0, constants = 0;
  uint64_t bytes = 0;
  for_each_graph(graph, [&](Graph& g) {
    for (const Node* n : g.nodes()) {
      nodes++;
      operators[n->domain.empty() ? n->op_type : n->domain + "." + n->op_type]++;
    }
    for (const Value* v : g.values())
      if (v->is_constant()) constants++, bytes += v->constant().bytes();
  });
  std::string text = fmt::format("graph {}: {} nodes, {} constants of {} bytes\n", graph.name,
                                 nodes, constants, bytes);
  for (const Value* v : graph.inputs())
    text += fmt::format("input {}: {}\n", v->name(), describe_type(*v));
  for (const Value* v : graph.outputs())
    text += fmt::format("output {}: {}\n", v->name(), describe_type(*v));
  for (const auto& [op, count] : operators) text += fmt::format("  {} x {}\n", count, op);
  print_text(context, text);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "model_overview",
    .summary =
        "prints the inputs, the outputs, the number of nodes of each operator, and the constants",
    .condition = "none",
    .run = run,
    .parameters = {{"use_print", ParameterKind::flag, "print the result", "True"}},
    .kind = PassKind::inspect};

}  // namespace poprt::passes::model_overview_pass

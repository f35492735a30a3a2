#include <algorithm>
#include <cctype>

#include "passes/common/build.h"

namespace poprt::passes::auto_insert_remap_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

struct Mode {
  bool before;
  std::string type;  // operator type in lower case
};

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::vector<Mode> modes_of(const PassContext& context) {
  std::vector<Mode> modes;
  for (const std::string& name : context.names("remap_mode")) {
    if (name == "both") {
      modes.push_back({false, "matmul"});
      modes.push_back({true, "add"});
    } else if (name.starts_with("before_") && name.size() > 7) {
      modes.push_back({true, lower_case(name.substr(7))});
    } else if (name.starts_with("after_") && name.size() > 6) {
      modes.push_back({false, lower_case(name.substr(6))});
    } else {
      fail(ErrorCode::invalid_argument,
           "remap_mode: expected before_TYPE, after_TYPE or both, found '{}'", name);
    }
  }
  return modes;
}

bool is_remapped(const Value* v) {
  if (producer_if(v, "Remap", kGraphcore)) return true;
  const Node* reader = ir::single_reader(v);
  return reader && reader->is("Remap", kGraphcore);
}

void remap_inputs(Node& n, PassContext& context) {
  for (size_t i = 0; i < n.inputs().size(); i++) {
    Value* v = n.input(i);
    if (!v || v->is_constant() || !is_plain_float(v->dtype()) || is_remapped(v) || !context.allow())
      continue;
    n.set_input(i, insert_graphcore(n, "Remap", std::vector<Value*>{v})->output());
  }
}

void remap_output(Node& n, Node* next, PassContext& context) {
  Value* v = n.output();
  if (!is_plain_float(v->dtype()) || is_remapped(v) || !is_used(v) || !context.allow()) return;
  root_of(n.graph()).opsets.emplace(kGraphcore, 1);
  const std::string name = v->name() + "_Remap";
  Node* remap = n.graph().add_node("Remap", std::string(kGraphcore), std::span<Value* const>(), 1,
                                   next, std::span(&name, 1));
  remap->output()->type = v->type;
  n.graph().replace_all_uses(v, remap->output());
  const std::vector<Value*> inputs{v};
  remap->set_inputs(inputs);
}

void run(Graph& graph, PassContext& context) {
  const std::vector<Mode> modes = modes_of(context);
  for_each_graph(graph, [&](Graph& g) {
    const std::vector<Node*> nodes = g.nodes();
    for (size_t i = 0; i < nodes.size(); i++) {
      const std::string type = lower_case(nodes[i]->op_type);
      for (const Mode& mode : modes) {
        if (mode.type != type) continue;
        if (mode.before)
          remap_inputs(*nodes[i], context);
        else
          remap_output(*nodes[i], i + 1 < nodes.size() ? nodes[i + 1] : nullptr, context);
      }
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "auto_insert_remap",
    .summary =
        "adds ai.graphcore.Remap, which changes the layout of a tensor, before or after operators",
    .condition =
        "computed floats; a tensor is not remapped twice. This runtime has no layout on tiles, so "
        "values and speed do not change",
    .numerics = Numerics::exact,
    .run = run,
    .parameters = {{"remap_mode", ParameterKind::names,
                    "before_TYPE or after_TYPE (of operators, such as after_matmul), or both for "
                    "after_matmul,before_add",
                    "after_matmul"}}};

}  // namespace poprt::passes::auto_insert_remap_pass

#include "compiler/outputs.h"

#include <algorithm>

#include "base/error.h"

namespace poprt::compiler {
namespace {

std::string output_names(const ir::Graph& graph) {
  std::string names;
  for (const ir::Value* out : graph.outputs())
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", out->name());
  return names;
}

}  // namespace

void select_outputs(ir::Graph& graph, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::vector<ir::Value*> wanted;
  for (const std::string& name : names) {
    ir::Value* v = graph.find(name);
    if (!v || !graph.is_output(v))
      fail(ErrorCode::not_found, "there is no output '{}'; outputs are: {}", name,
           output_names(graph));
    if (std::ranges::find(wanted, v) != wanted.end())
      fail(ErrorCode::invalid_argument, "output '{}' is given twice", name);
    wanted.push_back(v);
  }
  while (!graph.outputs().empty()) graph.remove_output(graph.outputs().size() - 1);
  for (ir::Value* v : wanted) graph.add_output(v);
}

void change_outputs(ir::Graph& graph, const std::vector<std::string>& removed,
                    const std::vector<std::string>& checkpoints) {
  for (const std::string& name : removed) {
    const auto& outputs = graph.outputs();
    const auto found = std::ranges::find(
        outputs, name, [](const ir::Value* v) -> const auto& { return v->name(); });
    if (found == outputs.end())
      fail(ErrorCode::not_found, "`remove_outputs`: there is no output '{}'; outputs are: {}", name,
           output_names(graph));
    if (outputs.size() == 1 && checkpoints.empty())
      fail(ErrorCode::invalid_argument, "`remove_outputs`: '{}' is the only output", name);
    graph.remove_output(static_cast<size_t>(found - outputs.begin()));
  }
  for (const std::string& name : checkpoints) {
    ir::Value* v = graph.find(name);
    if (!v) fail(ErrorCode::not_found, "`checkpoints`: the model has no tensor '{}'", name);
    if (!v->producer())
      fail(ErrorCode::invalid_argument,
           "`checkpoints`: '{}' is an input or a constant of the model and not a computed tensor",
           name);
    if (!graph.is_output(v)) graph.add_output(v);
  }
}

namespace {

bool has_unknown_size(const ir::Value* v) { return v && !v->type.is_static(); }

}  // namespace

std::string sized_results(const ir::Graph& graph, const ir::Graph& resolved) {
  constexpr int kMost = 32;
  std::string names;
  int count = 0;
  for (const ir::Node* n : resolved.nodes()) {
    if (std::ranges::any_of(n->inputs(), has_unknown_size)) continue;
    for (const ir::Value* out : n->outputs()) {
      const ir::Value* own = has_unknown_size(out) ? graph.find(out->name()) : nullptr;
      const bool is_tensor = out->type.has_shape && out->dtype() != DType::string;
      if (!own || !own->producer() || !is_tensor || graph.is_output(own) || count++ >= kMost)
        continue;
      names += out->name() + "\n";
    }
  }
  return names;
}

}  // namespace poprt::compiler

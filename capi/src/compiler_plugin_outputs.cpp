#include "compiler_plugin_outputs.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine_options.h"
#include "option_lists.h"

namespace poprt::capi {
namespace {

std::string output_names(const ir::Graph& graph) {
  std::string names;
  for (const ir::Value* out : graph.outputs())
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", out->name());
  return names;
}

}  // namespace

void change_outputs(ir::Graph& graph, const poprt_compile_options& o) {
  if (const char* removed = named_option(o, "remove_outputs"))
    for (const std::string& name : split_names(removed, "remove_outputs")) {
      const auto& outputs = graph.outputs();
      const auto found = std::ranges::find(
          outputs, name, [](const ir::Value* v) -> const auto& { return v->name(); });
      if (found == outputs.end())
        fail(ErrorCode::not_found, "`remove_outputs`: there is no output '{}'; outputs are: {}",
             name, output_names(graph));
      if (outputs.size() == 1)
        fail(ErrorCode::invalid_argument, "`remove_outputs`: '{}' is the only output", name);
      graph.remove_output(static_cast<size_t>(found - outputs.begin()));
    }
  std::vector<std::string> checkpoints;
  if (const char* names = named_option(o, "checkpoints"))
    checkpoints = split_names(names, "checkpoints");
  if (const char* names = named_option(o, kLayers))
    for (const std::string_view name : split_lines(names, "checkpoints"))
      checkpoints.emplace_back(name);
  for (const std::string& name : checkpoints) {
    ir::Value* v = graph.find(name);
    if (!v) fail(ErrorCode::not_found, "`checkpoints`: the model has no tensor '{}'", name);
    if (!v->producer())
      fail(ErrorCode::invalid_argument,
           "`checkpoints`: '{}' is an input or a constant of the model, nothing computes it", name);
    if (!graph.is_output(v)) graph.add_output(v);
  }
}

void select_outputs(ir::Graph& graph, const poprt_compile_options& o) {
  if (o.output_count == 0) return;
  std::vector<ir::Value*> wanted;
  for (const char* name : std::span(o.outputs, o.output_count)) {
    ir::Value* v = graph.find(name);
    if (!v || !graph.is_output(v))
      fail(ErrorCode::not_found, "there is no output '{}'; outputs are: {}", name,
           output_names(graph));
    if (std::find(wanted.begin(), wanted.end(), v) != wanted.end())
      fail(ErrorCode::invalid_argument, "output '{}' is given twice", name);
    wanted.push_back(v);
  }
  while (!graph.outputs().empty()) graph.remove_output(graph.outputs().size() - 1);
  for (ir::Value* v : wanted) graph.add_output(v);
}

}  // namespace poprt::capi

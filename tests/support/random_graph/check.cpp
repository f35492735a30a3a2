#include <algorithm>

#include "onnx/export.h"
#include "onnx/import.h"
#include "support/random_graph/random_graph.h"
#include "support/run_executable.h"

namespace poprt::test {
namespace {

std::unique_ptr<ir::Graph> through_onnx(const ir::Graph& graph) {
  const std::string bytes = onnx::export_bytes(graph);
  return onnx::import_bytes(std::as_bytes(std::span(bytes)));
}

// Returns whether an operand that is not constant decides the shape of the result.
bool computes_its_shape(const ir::Node& n) {
  const bool all = n.is("ConstantOfShape") || n.is("Range");
  const bool but_the_first =
      n.is("Expand") || n.is("Reshape") || n.is("Slice") || n.is("Tile") || n.is("TopK");
  const auto inputs = n.inputs();
  return (all || but_the_first) &&
         std::any_of(inputs.begin() + (all ? 0 : 1), inputs.end(),
                     [](const ir::Value* v) { return v && !v->is_constant(); });
}

// Whether the node removes all axes of size 1. If a size depends on data, so does the rank of the
// result, but a compiled model keeps the axis.
bool squeezes_unknown(const ir::Node& n) {
  return n.is("Squeeze") && n.inputs().size() < 2 && !n.find_attr("axes");
}

bool has_sizes_of_data(const ir::Graph& graph) {
  const auto nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const ir::Node* n) {
    return has_size_of_data(*n) || computes_its_shape(*n);
  });
}

}  // namespace

std::string check_graph(const RandomGraph& g) {
  Reference reference(*g.graph, g.feeds);
  const bool of_data = has_sizes_of_data(*g.graph);
  const auto nodes = g.graph->nodes();
  if (of_data && std::any_of(nodes.begin(), nodes.end(),
                             [](const ir::Node* n) { return squeezes_unknown(*n); }))
    return "";
  try {
    // Exports and imports some of the graphs as ONNX models.
    const auto graph = g.graph->node_count() % 4 == 1 ? through_onnx(*g.graph) : g.graph->clone();
    // Removes the types of results: they are those for this data, which the compiler cannot know.
    for (ir::Value* v : of_data ? graph->values() : std::vector<ir::Value*>())
      if (v->producer()) v->type = {};
    const compiler::Options options;
    compiler::convert(*graph, options);
    const compiler::Executable executable = compiler::compile(*graph, options);
    return reference.difference(run_executable(executable, g.feeds));
  } catch (const Error& e) {
    // Documented as refused: two axes whose sizes depend on data, and numbers without a bound.
    const bool unbounded = e.message().find("depends on run-time values") != std::string::npos;
    if (of_data && (e.code() == ErrorCode::unimplemented || unbounded)) return "";
    return fmt::format("refused: {}", e.message());
  }
}

}  // namespace poprt::test

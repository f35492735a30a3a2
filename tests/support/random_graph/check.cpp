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

}  // namespace

std::string check_graph(const RandomGraph& g) {
  Reference reference(*g.graph, g.feeds);
  try {
    // Some as the ONNX model that they would be.
    const auto graph = g.graph->node_count() % 4 == 1 ? through_onnx(*g.graph) : g.graph->clone();
    const compiler::Options options;
    compiler::convert(*graph, options);
    const compiler::Executable executable = compiler::compile(*graph, options);
    return reference.difference(run_executable(executable, g.feeds));
  } catch (const Error& e) {
    return fmt::format("refused: {}", e.message());
  }
}

}  // namespace poprt::test

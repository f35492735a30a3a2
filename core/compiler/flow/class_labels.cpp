#include "compiler/flow/class_labels.h"

#include <numeric>
#include <vector>

#include "base/json.h"
#include "compiler/onnx_metadata.h"
#include "ops/op.h"

namespace poprt::compiler {
namespace {

// The graph output that is `v`, behind Identity too; empty when nothing reads it. Throws when
// anything else does. None of them keeps the declaration that it is text.
std::string output_of(const ir::Graph& graph, const ir::Node& classifier, ir::Value* v) {
  std::string name = graph.is_output(v) ? v->name() : "";
  v->type.dtype = DType::undefined;
  for (const ir::Use& use : v->uses()) {
    if (!use.node->is("Identity"))
      fail(
          ErrorCode::unimplemented,
          "{}: its class labels are strings and {} reads them, but the device has no strings; make "
          "'{}' an output of the model, where it becomes the index of the label, and do the rest "
          "after it, or number the classes before export",
          classifier.describe(), use.node->describe(), v->name());
    const std::string behind = output_of(graph, classifier, use.node->output());
    if (name.empty()) name = behind;
  }
  return name;
}

}  // namespace

void number_class_labels(ir::Graph& graph) {
  for (ir::Node* n : graph.nodes()) {
    const bool tree = n->is("TreeEnsembleClassifier", "ai.onnx.ml");
    if (!tree && !n->is("LinearClassifier", "ai.onnx.ml") && !n->is("SVMClassifier", "ai.onnx.ml"))
      continue;
    const auto at = n->attributes.find("classlabels_strings");
    if (at == n->attributes.end()) continue;
    const auto* list = std::get_if<std::vector<std::string>>(&at->second);
    if (!list || list->empty()) continue;
    const std::vector<std::string> labels = *list;
    const std::string output = output_of(graph, *n, n->output(0));
    std::vector<int64_t> numbers(labels.size());
    std::iota(numbers.begin(), numbers.end(), int64_t{0});
    n->attributes.erase(at);
    n->attributes[tree ? "classlabels_int64s" : "classlabels_ints"] = numbers;
    if (!output.empty())
      graph.metadata[fmt::format("{}{}{}", kOwnProperty, kClassLabels, output)] =
          json_text(nlohmann::json(labels));
  }
}

std::map<std::string, std::string> class_labels_of(const ir::Graph& graph) {
  std::map<std::string, std::string> blobs;
  const std::string start = fmt::format("{}{}", kOwnProperty, kClassLabels);
  for (const auto& [key, value] : graph.metadata)
    if (key.starts_with(start)) blobs[key.substr(kOwnProperty.size())] = value;
  return blobs;
}

}  // namespace poprt::compiler

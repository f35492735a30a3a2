#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/flow/specialize.h"
#include "ops/common/search.h"

namespace poprt::compiler {
namespace {

// Inputs whose value decides shapes or control flow, by operator: bit i for input i.
uint32_t value_inputs(const ir::Node& n) {
  static const std::unordered_map<std::string_view, uint32_t> kInputs = {{"AffineGrid", 2},
                                                                         {"BlackmanWindow", 1},
                                                                         {"CenterCropPad", 2},
                                                                         {"Col2Im", 6},
                                                                         {"Compress", 2},
                                                                         {"ConstantOfShape", 1},
                                                                         {"DFT", 6},
                                                                         {"Expand", 2},
                                                                         {"HammingWindow", 1},
                                                                         {"HannWindow", 1},
                                                                         {"If", 1},
                                                                         {"ImageDecoder", 1},
                                                                         {"Loop", 3},
                                                                         {"MaxUnpool", 4},
                                                                         {"MelWeightMatrix", 31},
                                                                         {"NonMaxSuppression", 28},
                                                                         {"OneHot", 2},
                                                                         {"OptionalHasElement", 0},
                                                                         {"Pad", 10},
                                                                         {"Range", 7},
                                                                         {"Reshape", 2},
                                                                         {"Resize", 14},
                                                                         {"STFT", 10},
                                                                         {"SequenceAt", 2},
                                                                         {"SequenceErase", 2},
                                                                         {"SequenceInsert", 4},
                                                                         {"Slice", 30},
                                                                         {"Split", 2},
                                                                         {"SplitToSequence", 2},
                                                                         {"Squeeze", 2},
                                                                         {"Tile", 6},
                                                                         {"TopK", 2},
                                                                         {"Unsqueeze", 2},
                                                                         {"Upsample", 2}};
  if (ops::is_search(n)) return ops::search_sizes(n);
  if (!n.domain.empty() && n.domain != "ai.onnx") return 0;
  if (n.op_type == "Scan") return n.opset() < 9 ? 1 : 0;
  if (n.op_type.starts_with("Reduce")) return 2;
  const auto it = kInputs.find(n.op_type);
  return it == kInputs.end() ? 0 : it->second;
}

// Graph inputs that a value is computed from.
void collect_sources(const ir::Value* v, std::unordered_set<const ir::Value*>& seen) {
  if (!v || !seen.insert(v).second || !v->producer()) return;
  if (v->producer()->is("Shape") || v->producer()->is("Size")) return;
  for (const ir::Value* in : v->producer()->inputs()) collect_sources(in, seen);
}

void collect(const ir::Graph& graph, int level, std::unordered_set<const ir::Value*>& wanted) {
  for (const ir::Node* n : graph.nodes()) {
    const uint32_t mask = level == 1 ? value_inputs(*n) : ~uint32_t{1};
    for (size_t i = 0; i < n->inputs().size(); i++)
      if (i >= 32 ? level > 1 : (mask >> i) & 1) collect_sources(n->input(i), wanted);
    ir::for_each_subgraph(*n, [&](const ir::Graph& sub) { collect(sub, level, wanted); });
  }
}

}  // namespace

std::vector<std::string> fold_inputs(ir::Graph& graph, const std::map<std::string, Tensor>& values,
                                     int level) {
  std::unordered_set<const ir::Value*> wanted;
  if (level > 0) collect(graph, level, wanted);
  if (level == 2) collect(graph, 1, wanted);
  std::vector<std::string> folded;
  const std::vector<ir::Value*> inputs = graph.inputs();
  for (ir::Value* v : inputs) {
    const auto it = values.find(v->name());
    if (it == values.end()) continue;
    const Tensor& t = it->second;
    if (t.dtype() != DType::string && level < 3 && !wanted.contains(v)) continue;
    if (v->dtype() != DType::undefined && v->dtype() != t.dtype())
      fail(ErrorCode::invalid_argument, "input '{}' is {}, its value is {}", v->name(),
           dtype_name(v->dtype()), dtype_name(t.dtype()));
    folded.push_back(v->name());
    const std::string name = v->name();
    ir::Value* c = graph.add_constant(name + ":value", t);
    for (size_t i = 0; i < graph.outputs().size(); i++)
      if (graph.outputs()[i] == v) graph.set_output(i, c);
    graph.replace_all_uses(v, c);
    graph.erase_value(v);
    graph.rename(c, name);
  }
  return folded;
}

}  // namespace poprt::compiler

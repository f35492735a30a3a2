#include "opsets/convert.h"

#include <algorithm>
#include <unordered_set>

#include "base/log.h"
#include "ir/schemas.h"
#include "ops/common/evaluate.h"
#include "ops/op.h"
#include "opsets/rule.h"
#include "opsets/types.h"

namespace poprt::opsets {
namespace {

using ir::Graph;
using ir::Node;

// Temporary domains of nodes that are done: those that were converted, and those whose definition
// is the same in both opsets.
constexpr std::string_view kConverted = "poprt.converted", kUnchanged = "poprt.unchanged";

// The largest constant that may replace a node, so that a conversion does not need much memory.
constexpr int64_t kMostFoldedElements = int64_t{1} << 24;

bool has_onnx_nodes(const Graph& graph) {
  bool found = false;
  for (const Node* n : graph.nodes()) {
    found = found || ir::is_onnx_domain(n->domain);
    ir::for_each_subgraph(*n, [&](const Graph& sub) { found = found || has_onnx_nodes(sub); });
  }
  return found;
}

bool has_newest_nodes(const Graph& graph) {
  bool found = false;
  for (const Node* n : graph.nodes()) {
    found = found || n->domain == ir::kNewestDomain;
    ir::for_each_subgraph(*n, [&](const Graph& sub) { found = found || has_newest_nodes(sub); });
  }
  return found;
}

// Makes node names unique. The replacement of a node consists of nodes with its name, but ONNX
// Runtime refuses a model in which two nodes have one name.
void make_names_unique(Graph& graph, std::unordered_set<std::string>& taken) {
  for (Node* n : graph.nodes()) {
    ir::for_each_subgraph(*n, [&](Graph& sub) { make_names_unique(sub, taken); });
    if (n->name.empty() || taken.insert(n->name).second) continue;
    const std::string stem = n->name + "_" + n->op_type;
    n->name = stem;
    for (size_t i = 2; !taken.insert(n->name).second; i++) n->name = fmt::format("{}_{}", stem, i);
  }
}

class Converter {
 public:
  Converter(int64_t source, int64_t target, bool faithful)
      : source_(source), target_(target), faithful_(faithful) {}

  void convert(Graph& graph) {
    // The replacement of a node is placed before it and converted in the next round.
    for (bool again = true; again;) {
      again = false;
      for (Node* n : graph.nodes()) {
        if (!ir::is_onnx_domain(n->domain)) continue;
        again = true;
        ir::for_each_subgraph(*n, [&](Graph& sub) { convert(sub); });
        convert(*n);
      }
    }
    for (Node* n : graph.nodes())
      ir::for_each_subgraph(*n, [&](Graph& sub) { convert_of_other_domains(*n, sub); });
  }

  // Restores the domain of the nodes.
  void finish(Graph& graph) const {
    for (Node* n : graph.nodes()) {
      ir::for_each_subgraph(*n, [&](Graph& sub) { finish(sub); });
      const bool unchanged = n->domain == kUnchanged;
      if (!unchanged && n->domain != kConverted) continue;
      n->domain.clear();
      // The types of unchanged nodes are not checked: if they are invalid, they are so in the
      // original model.
      if (!unchanged) check(*n);
    }
  }

 private:
  void convert_of_other_domains(const Node& n, Graph& sub) {
    if (n.domain != kConverted && n.domain != kUnchanged) convert(sub);
  }

  [[noreturn]] void refuse(const Node& n, std::string_view why) const {
    fail_conversion(n, source_, target_, why);
  }

  void convert(Node& n) {
    int64_t at = n.opset();
    const bool unchanged =
        n.domain != ir::kNewestDomain &&
        ir::definition_of("", n.op_type, at) == ir::definition_of("", n.op_type, target_);
    while (at != target_) {
      const int64_t has = ir::definition_of("", n.op_type, at);
      const int64_t wants = ir::definition_of("", n.op_type, target_);
      if (has == wants) {
        if (has == 0) refuse(n, fmt::format("ai.onnx has no operator {}", n.op_type));
        break;
      }
      const int64_t next = at > target_ ? has : next_definition(n, at);
      if (step(n, at, next)) return;
      at = at > target_ ? next - 1 : next;
    }
    n.domain = unchanged ? kUnchanged : kConverted;
  }

  // Returns the next opset above `at` with another definition of the operator, or the target opset
  // if there is none.
  int64_t next_definition(const Node& n, int64_t at) const {
    const int64_t has = ir::definition_of("", n.op_type, at);
    for (int64_t opset = at + 1; opset <= target_; opset++)
      if (ir::definition_of("", n.op_type, opset) != has) return opset;
    return target_;
  }

  // Converts a node between two adjacent definitions. Returns true if the node is erased.
  bool step(Node& n, int64_t at, int64_t border) {
    const bool down = at > target_;
    const Rule* rule = find_rule(n.op_type, border);
    const auto change = rule ? (down ? rule->down : rule->up) : nullptr;
    const bool first = down && ir::definition_of("", n.op_type, border - 1) == 0;
    if (!change) {
      if (first && fold(n)) return true;
      if (first)
        refuse(n, fmt::format("opset {} has no operator {}{}{}", target_, n.op_type,
                              rule && !rule->down_words.empty() ? ", " : "",
                              rule ? rule->down_words : ""));
      if (down) drop_attributes(n, border);
      return false;
    }
    Rewriter r(n, source_, target_, faithful_);
    try {
      change(r);
    } catch (const Error& e) {
      // The change needs a shape or a constant that the model does not have.
      if (e.code() != ErrorCode::failed_precondition) throw;
      std::string_view why = e.message();
      if (const std::string place = n.describe() + ": "; why.starts_with(place))
        why.remove_prefix(place.size());
      refuse(n, why);
    }
    if (r.replaced) erase(n);
    return r.replaced;
  }

  // Whether an attribute that older definitions lack has the value that means their behaviour.
  static bool is_neutral(const ir::Attribute& value) {
    if (const auto* i = std::get_if<int64_t>(&value)) return *i == 0;
    if (const auto* text = std::get_if<std::string>(&value)) return *text == "none";
    const auto* list = std::get_if<std::vector<int64_t>>(&value);
    return list && std::all_of(list->begin(), list->end(), [](int64_t i) { return i == 1; });
  }

  void drop_attributes(Node& n, int64_t border) const {
    for (auto it = n.attributes.begin(); it != n.attributes.end();) {
      const std::string names[] = {it->first};
      if (ir::first_opset_with("", n.op_type, names) != border) {
        ++it;
      } else if (is_neutral(it->second)) {
        it = n.attributes.erase(it);
      } else {
        refuse(n, fmt::format("attribute '{}' is of opset {} on", it->first, border));
      }
    }
  }

  // Computes a node from constants and replaces it by the results. Returns false, without a change,
  // if an input is not constant, an output has an unknown shape or is too large, or the operator is
  // not pure or uses text.
  static bool fold(Node& n) {
    const ops::OpDef* op = ops::find_op(n.domain, n.op_type, n.opset());
    if (!op || !op->pure || op->facts.text) return false;
    std::vector<Tensor> inputs;
    for (const ir::Value* v : n.inputs()) {
      if (v && !v->is_constant()) return false;
      inputs.push_back(v ? v->constant() : Tensor());
    }
    for (const ir::Value* v : n.outputs())
      if (!v->type.is_static() || element_count(v->shape()) > kMostFoldedElements) return false;
    const std::vector<Tensor> values = ops::evaluate(n, inputs);
    Rewriter r(n, 0, 0, false);
    for (size_t i = 0; i < values.size(); i++)
      if (values[i].dtype() != DType::undefined) r.result(i, r.constant(values[i]));
    erase(n);
    return true;
  }

  static void erase(Node& n) {
    Rewriter(n, 0, 0, false).keep_inputs(0);
    n.graph().erase_node(&n);
  }

  // Checks types against the target's definition; the rules ensure everything else.
  void check(const Node& n) const {
    if (!ops::find_op("", n.op_type, target_))
      refuse(n, fmt::format("opset {} has no operator {}", target_, n.op_type));
    const auto types = [&](const char* what, std::span<ir::Value* const> values, auto&& allowed) {
      for (size_t i = 0; i < values.size(); i++)
        if (values[i] && !allowed(n.op_type, target_, i, values[i]->dtype()))
          refuse(n, fmt::format("{} {} is {}, which {} does not take in opset {}", what, i,
                                dtype_name(values[i]->dtype()), n.op_type, target_));
    };
    types("input", n.inputs(), input_allows);
    types("output", n.outputs(), output_allows);
  }

  int64_t source_, target_;
  bool faithful_;
};

}  // namespace

int64_t opset_of(const Graph& graph) {
  for (const char* domain : {"", "ai.onnx"})
    if (const auto it = graph.opsets.find(domain); it != graph.opsets.end()) return it->second;
  return 0;
}

void convert(Graph& graph, int64_t target, bool faithful) {
  if (target < kOldestTarget || target > kNewest)
    fail(ErrorCode::invalid_argument, "convert_version: expected an opset from {} to {}, found {}",
         kOldestTarget, kNewest, target);
  const int64_t source = opset_of(graph);
  if (!has_onnx_nodes(graph)) return;
  if (source < kOldestSource || source > kNewest)
    fail(ErrorCode::unimplemented,
         "convert_version: no conversion from opset {} to {}: models are of opsets {} to {}",
         source, target, kOldestSource, kNewest);
  Converter converter(source, target, faithful);
  converter.convert(graph);
  graph.opsets.erase("ai.onnx");
  graph.opsets[""] = target;
  converter.finish(graph);
  std::unordered_set<std::string> taken;
  make_names_unique(graph, taken);
}

void convert_newest_nodes(Graph& graph) {
  const int64_t opset = opset_of(graph);
  if (opset < kOldestTarget || opset > kNewest || !has_newest_nodes(graph)) return;
  convert(graph, opset);
}

std::string convert_to_lowest(std::unique_ptr<Graph>& graph, int64_t wanted) {
  const int64_t source = opset_of(*graph);
  std::string why;
  for (int64_t target = wanted; target <= std::max(source, wanted); target++) {
    try {
      auto trial = graph->clone();
      convert(*trial, target, true);
      graph = std::move(trial);
      return why;
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unimplemented) throw;
      if (why.empty()) why = e.message();
    }
  }
  return why;
}

}  // namespace poprt::opsets

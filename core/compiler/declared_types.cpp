#include "compiler/declared_types.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "base/log.h"
#include "ir/types_agree.h"
#include "ops/common/op_types.h"
#include "ops/common/type_parameters.h"
#include "ops/op.h"

namespace poprt::compiler {
namespace {

constexpr std::string_view kRemedy =
    "correct the declaration or remove it (value_info, the shape of an output)";

// Whether the node has an operator without inference, such as one of a plug-in. The declared types
// of its results are then the only known ones.
bool infers_nothing(const ir::Node& n) {
  const ops::OpDef* op = ops::find_op(n.domain, n.op_type, n.opset());
  return op && !op->infer;
}

void forget_types(ir::Graph& graph) {
  for (ir::Node* n : graph.nodes()) {
    if (!infers_nothing(*n))
      for (ir::Value* v : n->outputs()) v->type = {};
    ir::for_each_subgraph(*n, [](ir::Graph& sub) { forget_types(sub); });
  }
}

std::string contradiction(const ir::Value& value, const std::string& declared,
                          const std::string& found) {
  return fmt::format("{}: output '{}' is declared {} but comes out as {}",
                     value.producer() ? value.producer()->describe() : "the graph", value.name(),
                     declared, found);
}

[[noreturn]] void refuse(const ir::Value& value, const std::string& declared,
                         const std::string& found) {
  fail(ErrorCode::invalid_argument, "{}; {}", contradiction(value, declared, found), kRemedy);
}

bool agree(ir::ValueType declared, const ir::ValueType& found, std::optional<size_t> bounded) {
  if (bounded && declared.has_shape && *bounded < declared.shape.size() && found.has_shape &&
      *bounded < found.shape.size() && declared.shape[*bounded] <= found.shape[*bounded])
    declared.shape[*bounded] = kUnknownDim;
  return ir::types_agree(declared, found);
}

bool is_misjudged_by_onnx(const ir::Node& n) {
  const auto misjudged = ops::facts_of(n).misjudged_by_onnx;
  return misjudged && misjudged(n);
}

}  // namespace

DeclaredTypes::DeclaredTypes(ir::Graph& graph, bool strict) : strict_(strict) {
  std::unordered_set<const ir::Value*> misjudged;
  const auto take = [&](const auto& self, ir::Graph& g) -> void {
    for (ir::Node* n : g.nodes()) {
      if (infers_nothing(*n)) continue;
      const auto inputs = n->inputs();
      const bool wrong = is_misjudged_by_onnx(*n) ||
                         std::any_of(inputs.begin(), inputs.end(),
                                     [&](const ir::Value* v) { return misjudged.contains(v); });
      for (ir::Value* v : n->outputs()) {
        if (wrong) {
          misjudged.insert(v);
          v->type.has_shape = false;
          v->type.shape.clear();
        }
        if (v->type.dtype == DType::undefined && !v->type.has_shape) continue;
        if (&g == &graph) of_names_.emplace(v->name(), v->type);
        types_.emplace(v, std::move(v->type));
        v->type = {};
      }
      ir::for_each_subgraph(*n, [&](ir::Graph& sub) { self(self, sub); });
    }
  };
  take(take, graph);
  take_containers(graph);
}

// Only element types are compared, because the elements of a container may have different shapes,
// and published test vectors declare only one.
bool DeclaredTypes::element_type_matches(const Container& c, const ir::ValueType& found) {
  return c.element == DType::undefined || found.dtype == DType::undefined ||
         c.element == found.dtype;
}

void DeclaredTypes::take_containers(ir::Graph& graph) {
  for (ir::Node* n : graph.nodes()) {
    for (const ir::Value* v : n->outputs()) {
      const auto it = graph.metadata.find(ir::kDeclaredContainer + v->name());
      if (it == graph.metadata.end()) continue;
      // For example "sequence f32[2,3]".
      const std::string_view text = it->second;
      const size_t space = text.find(' '), end = std::min(text.find('['), text.size());
      const auto element = dtype_from_name(text.substr(space + 1, end - space - 1));
      containers_[v] = {std::string(text.substr(0, space)), element.value_or(DType::undefined),
                        it->second};
      graph.metadata.erase(it);
    }
    ir::for_each_subgraph(*n, [&](ir::Graph& sub) { take_containers(sub); });
  }
}

void DeclaredTypes::report(const std::string& text, const ir::ValueType& declared,
                           const ir::ValueType& found) const {
  const bool one_element = declared.dtype == found.dtype || declared.dtype == DType::undefined ||
                           found.dtype == DType::undefined;
  if (strict_ || !one_element) fail(ErrorCode::invalid_argument, "{}; {}", text, kRemedy);
  if (warned_) return;
  warned_ = true;
  log().warn(
      "{}; the inferred shape is used, here and for other values with contradictory shapes; {}",
      text, kRemedy);
}

void DeclaredTypes::check(const ir::Value& value, const ir::ValueType& found,
                          std::optional<size_t> bounded) const {
  const auto it = types_.find(&value);
  if (it != types_.end() && !agree(it->second, found, bounded))
    report(contradiction(value, ir::type_string(it->second), ir::type_string(found)), it->second,
           found);
  const auto container = containers_.find(&value);
  if (container == containers_.end() || found.dtype == DType::undefined) return;
  // An optional that is present is represented by its element.
  const Container& c = container->second;
  if (c.kind != "optional" || !element_type_matches(c, found))
    refuse(value, c.text, ir::type_string(found));
}

void DeclaredTypes::check_sequence(const ir::Value& value,
                                   std::span<ir::Value* const> elements) const {
  if (const auto it = types_.find(&value); it != types_.end())
    refuse(value, ir::type_string(it->second), "a sequence");
  const auto it = containers_.find(&value);
  if (it == containers_.end()) return;
  const Container& c = it->second;
  if (c.kind == "optional") refuse(value, c.text, "a sequence");
  for (const ir::Value* element : elements)
    if (!element_type_matches(c, element->type))
      refuse(value, c.text, "a sequence with " + ir::type_string(element->type));
}

void DeclaredTypes::infer_and_check(ir::Graph& graph) const {
  for (ir::Node* n : graph.nodes()) {
    ir::for_each_subgraph(*n, [&](ir::Graph& sub) { infer_and_check(sub); });
    bool inferred = true;
    try {
      ops::infer(*n);
    } catch (const Error&) {
      // Only contradictions in the subgraphs of control flow are certain here. Other nodes may wait
      // for a computed value, or be in a branch that is never taken.
      if (ops::facts_of(*n).passes_types) throw;
      for (ir::Value* v : n->outputs()) v->type = {};
      inferred = false;  // reported later with more details
    }
    if (inferred) ops::check_type_parameters(*n);
    for (const ir::Value* v : n->outputs()) check(*v, v->type);
  }
}

void DeclaredTypes::check_all(ir::Graph& graph) const {
  const ops::NoExplanations quiet;
  infer_and_check(graph);
  forget_types(graph);
}

void DeclaredTypes::check_names(const ir::Graph& graph) const {
  for (const ir::Value* v : graph.values())
    if (const auto it = of_names_.find(v->name());
        it != of_names_.end() && !ir::types_agree(it->second, v->type))
      report(contradiction(*v, ir::type_string(it->second), ir::type_string(v->type)), it->second,
             v->type);
}

void DeclaredTypes::check_input(const ir::Graph& body, size_t input,
                                const ir::ValueType& given) const {
  const ir::Value& v = *body.inputs()[input];
  // Exporters declare the shape [1] for iteration numbers and conditions.
  if (given.has_shape && given.shape.empty() && v.type.has_shape && v.type.shape == Shape{1} &&
      (v.type.dtype == given.dtype || v.type.dtype == DType::undefined))
    return;
  if (!ir::types_agree(v.type, given))
    report(fmt::format("subgraph '{}': input '{}' is declared {} but is given {}", body.name,
                       v.name(), ir::type_string(v.type), ir::type_string(given)),
           v.type, given);
}

}  // namespace poprt::compiler

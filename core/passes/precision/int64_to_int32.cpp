// Converts s64 to s32, including graph inputs and outputs. Constants saturate. Operators that ONNX
// defines for s64 only (Shape, ArgMax, NonZero ...) keep s64 and get casts, and so do nodes with
// numbers that may need more than 32 bits.
//
// Example: in Gather(table, Mod(Mul(id, 1000003), 5000)), Mul and Mod compute in s64, between a
// Cast of `id` to s64 and a Cast of the remainder to s32.
#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <unordered_set>

#include "base/log.h"
#include "ops/facts.h"
#include "passes/common/number_ranges.h"
#include "passes/common/retype.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::int64_to_int32_pass {
namespace {

using ir::Graph;
using ir::Node;

constexpr int64_t kS64 = 7, kS32 = 6;  // ONNX's numbers of the types

// Whether the node passes its states to its subgraphs, whose values are converted, too.
bool passes_types_to_subgraphs(const Node& n) { return ops::facts_of(n).passes_types; }

bool takes_int32(const Node& n) { return ops::facts_of(n).narrows || passes_types_to_subgraphs(n); }

bool is_s64_parameter(const ir::Use& use) {
  return ops::in_mask(ops::facts_of(*use.node).s64_inputs, use.input);
}

// Whether the reader accepts only s64. Its constant stays s64, because after a Cast the number
// would not be visible to shape inference (the k of TopK determines a shape).
bool keeps_s64(const ir::Use& use) {
  if (is_s64_parameter(use)) return true;
  const ir::Value* v = use.node->input(use.input);
  return v && v->is_constant() && !takes_int32(*use.node);
}

// Finds the values that stay s64: those of subgraphs whose types the operator defines, and the
// iteration numbers of loops.
class UnconvertedSubgraphs {
 public:
  explicit UnconvertedSubgraphs(Graph& graph) { visit(graph, false); }
  bool leaves(const Graph& g) const { return left_.contains(&g); }
  bool stays(const ir::Value& v) const { return iterations_.contains(&v); }

 private:
  void visit(Graph& graph, bool left) {
    if (left) left_.insert(&graph);
    for (Node* n : graph.nodes())
      ir::for_each_subgraph(*n, [&](Graph& sub) {
        visit(sub, left || !passes_types_to_subgraphs(*n));
        if (!left && ops::facts_of(*n).runs_rounds && !sub.inputs().empty()) cast_iteration(sub);
      });
  }

  // Readers of the iteration number read a converted copy. Its Cast is to s64 here, like the values
  // around it, and retype() narrows both.
  void cast_iteration(Graph& body) {
    ir::Value* number = body.inputs()[0];
    iterations_.insert(number);
    if (number->uses().empty() && !body.is_output(number)) return;
    const auto nodes = body.nodes();
    const std::string names[] = {number->name() + "_narrow"};
    Node* cast = body.add_node("Cast", "", std::span<ir::Value* const>(), 1,
                               nodes.empty() ? nullptr : nodes[0], names);
    cast->attributes["to"] = kS64;
    cast->output()->type = number->type;
    const std::vector<ir::Use> uses = number->uses();
    for (const ir::Use& u : uses) u.node->set_input(u.input, cast->output());
    for (size_t i = 0; i < body.outputs().size(); i++)
      if (body.outputs()[i] == number) body.set_output(i, cast->output());
    cast->set_input(0, number);
  }

  std::unordered_set<const Graph*> left_;
  std::unordered_set<const ir::Value*> iterations_;
};

// Finds the nodes that compute in s64 because one of their numbers may need more than 32 bits, and
// these numbers. Where such a number leaves the graph, or is passed to a subgraph or from it, it
// becomes s32 nevertheless, with a warning.
class WideNumbers {
 public:
  WideNumbers(Graph& graph, const UnconvertedSubgraphs& unconverted) : ranges_(graph) {
    for_each_graph(graph, [&](Graph& g) {
      if (!unconverted.leaves(g)) find(g);
    });
  }
  bool contains(const Node& n) const { return nodes_.contains(&n); }
  bool contains(const ir::Value& v) const { return values_.contains(&v); }

 private:
  bool is_wide(const ir::Value* v) const {
    return v && v->dtype() == DType::s64 && ranges_.of(v).exceeds_s32();
  }

  void find(Graph& g) {
    for (Node* n : g.nodes()) {
      if (passes_types_to_subgraphs(*n)) {
        for (size_t i = 0; i < n->inputs().size(); i++)
          if (is_wide(n->input(i))) n->set_input(i, narrowed(g, n->input(i), n));
        continue;
      }
      for (ir::Value* v : n->outputs())
        if (is_wide(v)) values_.insert(v);
      if (std::ranges::any_of(n->outputs(), [&](auto* v) { return is_wide(v); }) ||
          std::ranges::any_of(n->inputs(), [&](auto* v) { return is_wide(v); }))
        nodes_.insert(n);
    }
    for (size_t i = 0; i < g.outputs().size(); i++) {
      ir::Value* v = g.outputs()[i];
      if (!is_wide(v)) continue;
      ir::Value* narrow = narrowed(g, v, nullptr);
      const std::string name = v->name();
      for (size_t k = i; k < g.outputs().size(); k++)
        if (g.outputs()[k] == v) g.set_output(k, narrow);
      g.rename(v, name + "_64");
      g.rename(narrow, name);
    }
  }

  // The Cast is to s64 here, like the values around it, and retype() narrows its result.
  static ir::Value* narrowed(Graph& g, ir::Value* v, Node* before) {
    log().warn(
        "int64_to_int32: the numbers of '{}' may need more than 32 bits, of which the low 32 "
        "remain; --skip_passes int64_to_int32 keeps all",
        v->name());
    Node* cast = g.add_node("Cast", "", std::span<ir::Value* const>(&v, 1), 1, before);
    cast->attributes["to"] = kS64;
    cast->output()->type = v->type;
    return cast->output();
  }

  const NumberRanges ranges_;
  std::unordered_set<const Node*> nodes_;
  std::unordered_set<const ir::Value*> values_;
};

// Whether s32 cannot represent the value. The largest and smallest s64 mean "no limit" and become
// the largest and smallest s32.
bool exceeds_s32(int64_t value) {
  using Wide = std::numeric_limits<int64_t>;
  using Narrow = std::numeric_limits<int32_t>;
  return (value > Narrow::max() && value != Wide::max()) ||
         (value < Narrow::min() && value != Wide::min());
}

// Saturated constants change the results that depend on them.
void warn_of_losses(const Graph& graph, const std::function<bool(const ir::Use&)>& keeps) {
  for (const ir::Value* v : graph.values()) {
    if (!v->is_constant() || v->dtype() != DType::s64) continue;
    if (std::ranges::all_of(v->uses(), keeps)) continue;
    const auto values = v->constant().values<int64_t>();
    if (const auto found = std::find_if(values.begin(), values.end(), exceeds_s32);
        found != values.end())
      log().warn(
          "int64_to_int32: constant '{}' contains {}, which becomes {} in 32 bits", v->name(),
          *found,
          *found > 0 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int32_t>::min());
  }
}

void run(Graph& graph, PassContext& context) {
  if (!context.allow()) return;
  const UnconvertedSubgraphs unconverted(graph);
  const WideNumbers wide(graph, unconverted);
  const auto keeps = [&](const ir::Use& use) {
    const ir::Value* v = use.node->input(use.input);
    return keeps_s64(use) || (v && v->is_constant() && wide.contains(*use.node));
  };
  for_each_graph(graph, [&](const Graph& g) { warn_of_losses(g, keeps); });
  retype(graph,
         {.from = DType::s64,
          .to = DType::s32,
          .onnx_from = kS64,
          .onnx_to = kS32,
          .accepts = [&](const Node& n) { return takes_int32(n) && !wide.contains(n); },
          .keeps = keeps,
          .convert =
              [](const Tensor& t, const std::string&) {
                Tensor out = Tensor::zeros(DType::s32, t.shape());
                const auto from = t.values<int64_t>();
                const auto to = out.mutable_values<int32_t>();
                for (size_t i = 0; i < from.size(); i++)
                  to[i] = static_cast<int32_t>(
                      std::clamp<int64_t>(from[i], std::numeric_limits<int32_t>::min(),
                                          std::numeric_limits<int32_t>::max()));
                return out;
              },
          .stays = [&](const ir::Value& v) { return unconverted.stays(v) || wide.contains(v); },
          .skips = [&](const Node& n) { return wide.contains(n); },
          .leaves = [&](const Graph& g) { return unconverted.leaves(g); }});
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "int64_to_int32",
                     .summary = "converts s64 values to s32 and saturates",
                     .condition = "s64 values that fit into s32; constants saturate",
                     .numerics = Numerics::precision,
                     .run = run};

}  // namespace poprt::passes::int64_to_int32_pass

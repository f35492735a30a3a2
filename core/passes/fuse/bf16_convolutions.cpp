// Computes convolutions with products of bf16, and stores their results as bf16 if only
// convolutions read them. Each product rounds both factors to bf16, so a result that is read as the
// input of a convolution is rounded the same whether it is stored as bf16 or not; a residual is
// rounded once more.
//
// A result of a convolution whose kernel can write bf16 is stored as bf16 if every reader is a
// convolution whose kernel accepts bf16, or a Concat of such results. The pass starts with all
// results and removes those that violate a condition until none does.
#include <algorithm>
#include <unordered_set>

#include "base/half.h"
#include "ops/common/conv_kernel.h"
#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::bf16_convolutions_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr size_t kResidual = 3;

bool is_conv(const Node& n) { return n.is("Conv", "poprt"); }

bool has_bf16_weights(const Node& conv) {
  const auto values = conv.input(1)->constant().values<float>();
  return std::ranges::all_of(values, [](float v) { return to_float(to_bf16(v)) == v; });
}

// The results of a graph that are stored as bf16.
class Stored {
 public:
  explicit Stored(const Graph& graph) : graph_(graph) {
    for (const Node* n : graph.nodes())
      if (starts(*n)) values_.insert(n->output());
    size_t before = 0;
    while (before != values_.size()) {
      before = values_.size();
      for (const Node* n : graph.nodes()) restrict(*n);
    }
  }
  bool contains(const Value* v) const { return v && values_.contains(v); }

 private:
  static bool is_bf16(const Node& n) { return n.string_attr("products", "f32") == "bf16"; }

  bool starts(const Node& n) const {
    if (n.is("Concat")) return true;
    return is_conv(n) && is_bf16(n) && ops::conv_kernel_of(n).writes_bf16();
  }

  static bool reads(const ir::Use& use, const ops::ConvKernel& kernel) {
    return use.input == 0 ? kernel.reads_bf16() : use.input == kResidual && kernel.writes_bf16();
  }
  bool is_read_by(const ir::Use& use) const {
    const Node& n = *use.node;
    if (&n.graph() != &graph_) return false;
    if (n.is("Concat")) return contains(n.output());
    return is_conv(n) && is_bf16(n) && reads(use, ops::conv_kernel_of(n));
  }

  void remove(const Value* v) { values_.erase(v); }

  void restrict(const Node& n) {
    for (const Value* y : n.outputs())
      if (contains(y) &&
          (graph_.is_output(y) || !is_used(y) ||
           !std::ranges::all_of(y->uses(), [&](const ir::Use& u) { return is_read_by(u); })))
        remove(y);
    if (n.is("Concat")) {
      if (!std::ranges::all_of(n.inputs(), [&](const Value* v) { return contains(v); }))
        remove(n.output());
    } else if (is_conv(n) && is_bf16(n) && ops::conv_kernel_of(n).one_type()) {
      const Value *x = n.input(0), *residual = n.input(kResidual), *y = n.output();
      if (contains(x) && contains(y) && (!residual || contains(residual))) return;
      for (const Value* v : {x, residual, y}) remove(v);
    }
  }

  const Graph& graph_;
  std::unordered_set<const Value*> values_;
};

void store(Graph& graph) {
  const Stored stored(graph);
  for (Node* n : graph.nodes()) {
    if (n->outputs().empty() || !stored.contains(n->output())) continue;
    if (is_conv(*n)) n->attributes["result_type"] = std::string("bf16");
    n->output()->type.dtype = DType::bf16;
    ops::infer(*n);
  }
}

void run(Graph& graph, PassContext& context) {
  const std::string& products = context.text("products");
  if (products != "f32" && products != "bf16" && products != "f16" && products != "auto")
    fail(ErrorCode::invalid_argument, "products is '{}', expected f32, bf16, f16 or auto",
         products);
  if (products == "f32" || products == "f16") return;
  for_each_graph(graph, [&](Graph& g) {
    bool any = false;
    for (Node* n : g.nodes()) {
      if (!is_conv(*n) || !n->input(1)->is_constant() || n->input(0)->dtype() != DType::f32 ||
          n->input(1)->dtype() != DType::f32 || (products == "auto" && !has_bf16_weights(*n)) ||
          !context.allow())
        continue;
      n->attributes["products"] = std::string("bf16");
      any = true;
    }
    if (any) store(g);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "bf16_convolutions",
    .summary =
        "computes blocked convolutions with products of bf16, and stores what only they read "
        "as bf16",
    .condition = "constant weights; products of bf16 are chosen, or bf16 represents the weights",
    .numerics = Numerics::precision,
    .run = run,
    .parameters = {{"products", ParameterKind::text,
                    "f32, bf16, f16 (no convolution changes), or auto: bf16 for weights that bf16 "
                    "represents",
                    "f32"}}};

}  // namespace poprt::passes::bf16_convolutions_pass

#include <algorithm>

#include "ir/newest.h"
#include "ops/common/evaluate.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::dequantize_weights_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    for (Node* n : g.nodes()) {
      if ((!n->is("DequantizeLinear") && !n->is("DequantizeLinear", ir::kNewestDomain)) ||
          g.is_output(n->output()))
        continue;
      if (!std::all_of(n->inputs().begin(), n->inputs().end(),
                       [](const Value* v) { return !v || v->is_constant(); }))
        continue;
      if (!n->output()->type.is_static() || !context.allow()) continue;
      std::vector<Tensor> inputs;
      for (const Value* v : n->inputs()) inputs.push_back(v ? v->constant() : Tensor());
      Value* old = n->output();
      const std::string name = old->name();
      Value* constant = g.add_constant(name + "_folded", ops::evaluate(*n, inputs)[0]);
      g.replace_all_uses(old, constant);
      erase_if_dead(n);
      g.rename(constant, name);
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "dequantize_weights",
                     .summary = "widens quantized constants that no integer kernel reads",
                     .condition = "the quantised constant is not an operand of an integer kernel",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::dequantize_weights_pass

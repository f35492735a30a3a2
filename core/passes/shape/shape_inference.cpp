#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::shape_inference_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Constants and graph inputs are facts; everything else follows from them. What inference cannot
// know keeps its declared element type; what an operator of a plug-in makes that infers nothing is
// what the model declares.
void infer_graph(Graph& graph) {
  for (Node* n : graph.nodes()) {
    std::vector<ir::ValueType> declared;
    for (Value* v : n->outputs()) {
      declared.push_back(v->type);
      v->type = {};
    }
    ir::for_each_subgraph(*n, [](Graph& sub) { infer_graph(sub); });
    ops::infer(*n);
    const bool told = ops::op_of(*n).infer;
    for (size_t i = 0; i < declared.size(); i++)
      if (!told)
        n->output(i)->type = std::move(declared[i]);
      else if (n->output(i)->type.dtype == DType::undefined)
        n->output(i)->type.dtype = declared[i].dtype;
  }
}

void run(Graph& graph, PassContext&) { infer_graph(graph); }

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "shape_inference",
                     .summary = "infers types and shapes from the inputs on, forgetting stale ones",
                     .condition = "none",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::shape_inference_pass

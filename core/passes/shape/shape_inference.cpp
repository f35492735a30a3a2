#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::shape_inference_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Infers all types from constants and graph inputs. A value that inference does not know keeps its
// declared element type. Results of plug-in operators without inference keep the declared type.
void infer_graph(Graph& graph) {
  for (Node* n : graph.nodes()) {
    std::vector<ir::ValueType> declared;
    for (Value* v : n->outputs()) {
      declared.push_back(v->type);
      v->type = {};
    }
    ir::for_each_subgraph(*n, [](Graph& sub) { infer_graph(sub); });
    ops::infer(*n);
    const bool infers = ops::op_of(*n).infer;
    for (size_t i = 0; i < declared.size(); i++)
      if (!infers)
        n->output(i)->type = std::move(declared[i]);
      else if (n->output(i)->type.dtype == DType::undefined)
        n->output(i)->type.dtype = declared[i].dtype;
  }
}

void run(Graph& graph, PassContext&) { infer_graph(graph); }

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "shape_inference",
                     .summary = "infers all types and shapes again from the inputs",
                     .condition = "none",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::shape_inference_pass

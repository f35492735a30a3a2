#include "base/log.h"
#include "ir/schemas.h"
#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::final_check_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void warn_of_unknown(const Graph& graph) {
  for (const Node* n : graph.nodes()) {
    for (const Value* v : n->outputs())
      if (is_used(v) && (v->dtype() == DType::undefined || !v->type.has_shape))
        log().warn("final_check: '{}' of {} has no known {}", v->name(), n->describe(),
                   v->dtype() == DType::undefined ? "type" : "shape");
    ir::for_each_subgraph(*n, [](const Graph& sub) { warn_of_unknown(sub); });
  }
}

void run(Graph& graph, PassContext& context) {
  for (const char* pass : {"sort_graph", "shape_inference", "eliminate_duplicate_initializer",
                           "unique_name_for_nodes"})
    pass_of(pass).run(graph, context);
  warn_of_unknown(graph);
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "final_check",
                     .summary =
                         "sorts nodes, infers types again, shares equal constants, names every "
                         "node, and warns about tensors without type or shape",
                     .condition = "none",
                     .run = run};

}  // namespace poprt::passes::final_check_pass

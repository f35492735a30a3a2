#include "passes/common/retype.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::double_to_float_pass {
namespace {

using ir::Graph;
using ir::Node;

void run(Graph& graph, PassContext& context) {
  bool any = false;
  for_each_graph(graph, [&](Graph& g) {
    for (const ir::Value* v : g.values()) any |= v->dtype() == DType::f64;
  });
  if (!any || !context.allow()) return;
  retype(graph, {.from = DType::f64,
                 .to = DType::f32,
                 .onnx_from = 11,
                 .onnx_to = 1,
                 .accepts = [](const Node&) { return true; },
                 .keeps = [](const ir::Use&) { return false; },
                 .convert =
                     [](const Tensor& t, const std::string&) {
                       return tensor_of(DType::f32, t.shape(), t.to_doubles());
                     }});
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "double_to_float",
                     .summary = "converts f64 values to f32",
                     .condition = "f64 values: f32 precision and range",
                     .numerics = Numerics::precision,
                     .run = run};

}  // namespace poprt::passes::double_to_float_pass

#include "passes/common/build.h"

namespace poprt::passes::batchnorm_workaround_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("BatchNormalization") || !n.input(0)->type.is_static()) return;
    const Shape shape = n.input(0)->shape();
    bool one = true;
    for (size_t i = 1; i < n.outputs().size(); i++) one &= !is_used(n.output(i));
    if (!one || shape.size() == 4 || shape.size() < 2 || n.int_attr("training_mode", 0) != 0 ||
        n.int_attr("spatial", 1) == 0 || !context.allow())
      return;
    int64_t rest = 1;
    for (size_t i = 2; i < shape.size(); i++) rest *= shape[i];
    std::vector<Value*> inputs(n.inputs().begin(), n.inputs().end());
    inputs[0] = reshaped(n, n.input(0), {shape[0], shape[1], rest, 1});
    Value* result = reshaped(n, insert_like(n, n, inputs)->output(), shape);
    replace_outputs(n, std::span(&result, 1));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "batchnorm_workaround",
    .summary = "reshapes the input of BatchNormalization to four dimensions, [N, C, rest, 1]",
    .condition =
        "the shape is static and has at least two dimensions; the statistics have no reader",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::batchnorm_workaround_pass

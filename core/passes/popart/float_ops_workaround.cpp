#include "ops/facts.h"
#include "passes/common/build.h"

namespace poprt::passes::float_ops_workaround_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Whether PopART has the operator for floats only and ONNX has it for integers, too: products,
// reductions and activations.
bool wants_floats(const Node& n) {
  const ops::Facts& facts = ops::facts_of(n);
  return facts.layer != ops::LayerForm::none || facts.neutral || facts.epilogue;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.domain.empty() || !wants_floats(n)) return;
    const DType dtype = n.input(0)->dtype();
    if (!is_integer(dtype) || n.output()->dtype() != dtype) return;
    // The minimum and maximum of an empty tensor are infinite, which an integer cannot represent.
    const ir::ValueType& type = n.input(0)->type;
    if ((type.is_static() && element_count(type.shape) == 0) || !context.allow()) return;
    std::vector<Value*> inputs(n.inputs().begin(), n.inputs().end());
    for (size_t i = 0; i < inputs.size(); i++)
      if (inputs[i] && is_integer(inputs[i]->dtype()) &&
          !ops::in_mask(ops::facts_of(n).s64_inputs, i))
        inputs[i] = cast_to(n, inputs[i], DType::f32);
    Value* result = cast_to(n, insert_like(n, n, inputs)->output(), dtype);
    replace_outputs(n, std::span(&result, 1));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "float_ops_workaround",
    .summary = "computes integers in f32 between casts if PopART has the operator for floats only",
    .condition =
        "integer matrix products, reductions and activations; integers beyond 2^24 are rounded",
    .numerics = Numerics::precision,
    .run = run};

}  // namespace poprt::passes::float_ops_workaround_pass

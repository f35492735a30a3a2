#include "ops/common/evaluate.h"
#include "ops/common/expansion.h"
#include "ops/op.h"
#include "passes/common/build.h"

namespace poprt::passes::fuse_cast_into_onehot_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The values as the Cast converts them. Integers that its type does not represent wrap around.
Tensor converted(const Node& cast, const Tensor& values) {
  const auto alone = ops::isolate(cast);
  Node* copy = alone->nodes().front();
  copy->set_input(0, alone->add_constant("", values));
  copy->output()->type = {};
  ops::infer(*copy);
  return ops::evaluate(*copy, std::vector<Tensor>{values})[0];
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Cast")) return;
    Node* one_hot = sole_producer_of(n.input(0), "OneHot");
    if (!one_hot || !one_hot->input(2)->is_constant()) return;
    const DType dtype = n.output()->dtype();
    if ((!is_plain_float(dtype) && !is_integer(dtype) && dtype != DType::boolean) ||
        !context.allow())
      return;
    std::vector<Value*> inputs(one_hot->inputs().begin(), one_hot->inputs().end());
    const Tensor& values = inputs[2]->constant();
    inputs[2] = n.graph().add_constant(inputs[2]->name() + "_cast", converted(n, values));
    Value* result = insert_like(n, *one_hot, inputs)->output();
    replace_outputs(n, std::span(&result, 1));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "fuse_cast_into_onehot",
    .summary = "lets OneHot return the type of the Cast after it",
    .condition = "the two values of OneHot are constant, and the Cast is its only reader",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::fuse_cast_into_onehot_pass

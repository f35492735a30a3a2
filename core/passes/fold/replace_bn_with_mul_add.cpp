#include "passes/common/batch_normalization.h"

namespace poprt::passes::replace_bn_with_mul_add_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void replace(Node& bn, PassContext& context) {
  const Value* x = bn.input(0);
  if (!x->type.has_shape || x->shape().size() < 2 || !bn.input(1) || !bn.input(1)->is_constant())
    return;
  const int64_t channels = bn.input(1)->constant().count();
  if (!is_foldable_norm(bn, channels) || !context.allow()) return;
  ChannelNorm norm = channel_norm_of(bn);
  for (size_t c = 0; c < norm.shift.size(); c++) norm.shift[c] -= norm.mean[c] * norm.factor[c];
  Shape shape(x->shape().size() - 1, 1);
  shape[0] = channels;
  Graph& g = bn.graph();
  const std::string name = bn.output()->name();
  Value* mul = g.add_constant(name + "_scale", tensor_of(x->dtype(), shape, norm.factor));
  Value* add = g.add_constant(name + "_shift", tensor_of(x->dtype(), shape, norm.shift));
  Node* scaled = insert_node(bn, "Mul", "", {bn.input(0), mul});
  replace_node(bn, insert_node(bn, "Add", "", {scaled->output(), add})->output());
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (n.is("BatchNormalization")) replace(n, context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "replace_bn_with_mul_add",
    .summary = "replaces BatchNormalization with constant statistics by Mul and Add",
    .condition = "statistics are constant",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::replace_bn_with_mul_add_pass

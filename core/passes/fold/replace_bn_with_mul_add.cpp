#include <cmath>

#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

bool constant_floats(const Value* v, int64_t count) {
  return v && v->is_constant() && is_plain_float(v->dtype()) && v->constant().count() == count;
}

bool replace(Node& bn, PassContext& context) {
  const Value* x = bn.input(0);
  if (!x->type.has_shape || x->shape().size() < 2 || !bn.input(1) || !bn.input(1)->is_constant())
    return false;
  const int64_t channels = bn.input(1)->constant().count();
  for (size_t i = 1; i <= 4; i++)
    if (!constant_floats(bn.input(i), channels)) return false;
  if (bn.int_attr("training_mode", 0) != 0 || bn.int_attr("spatial", 1) == 0) return false;
  for (size_t i = 1; i < bn.outputs().size(); i++)
    if (is_used(bn.output(i))) return false;
  if (!context.allow()) return false;
  std::vector<double> factor = bn.input(1)->constant().to_doubles(),
                      shift = bn.input(2)->constant().to_doubles();
  const std::vector<double> mean = bn.input(3)->constant().to_doubles(),
                            variance = bn.input(4)->constant().to_doubles();
  const double epsilon = static_cast<double>(bn.float_attr("epsilon", 1e-5f));
  for (size_t c = 0; c < factor.size(); c++) {
    factor[c] /= std::sqrt(variance[c] + epsilon);
    shift[c] -= mean[c] * factor[c];
  }
  Shape shape(x->shape().size() - 1, 1);
  shape[0] = channels;
  Graph& g = bn.graph();
  const std::string name = bn.output()->name();
  Value* mul = g.add_constant(name + "_scale", tensor_of(x->dtype(), shape, factor));
  Value* add = g.add_constant(name + "_shift", tensor_of(x->dtype(), shape, shift));
  Node* scaled = insert_node(bn, "Mul", "", {bn.input(0), mul});
  replace_node(bn, insert_node(bn, "Add", "", {scaled->output(), add})->output());
  return true;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (n.is("BatchNormalization")) replace(n, context);
  });
}

}  // namespace

extern const PassDef replace_bn_with_mul_add_pass;
const PassDef replace_bn_with_mul_add_pass = {
    .name = "replace_bn_with_mul_add",
    .summary = "turns BatchNormalization of constants into Mul and Add",
    .run = run};

}  // namespace poprt::passes

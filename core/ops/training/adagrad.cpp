// Inputs: R, T, parameters X, gradients G, sums of squared gradients H. G += norm_coefficient X, r
// = R / (1 + T decay_factor), H += G^2, X -= r G / (sqrt(H) + epsilon).
#include "ops/common/optimizer.h"

namespace poprt::ops::training_adagrad_op {
namespace {

void expand(Expansion& e) {
  const Optimizer o(e, 1);
  for (size_t i = 0; i < o.count(); i++) {
    ir::Value* rate =
        o.quotient(o.rate(i), o.plus(o.scaled(o.updates(i), o.attr("decay_factor", 0)), 1));
    ir::Value* g = o.gradient(i);
    ir::Value* h = o.sum(o.state(0, i), o.product(g, g));
    ir::Value* step = o.quotient(o.product(rate, g), o.plus(o.root(h), o.attr("epsilon", 1e-6f)));
    o.result(i, o.difference(o.x(i), step), {h});
  }
}

}  // namespace
}  // namespace poprt::ops::training_adagrad_op

POPRT_EXPANSION_WITH_FACTS(training_adagrad_op, "ai.onnx.preview.training", "Adagrad", expand,
                           .trial = {"T[]; s64[]; T[4]; T[4]; T[4]", "", 2})

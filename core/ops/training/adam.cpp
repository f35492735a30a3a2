// Inputs: R, T, parameters X, gradients G, averages V of the gradients and H of their squares.
//
//   G = G + norm_coefficient X
//   V = alpha V + (1 - alpha) G
//   H = beta H + (1 - beta) G^2
//   r = R sqrt(1 - beta^T) / (1 - alpha^T), or R if T = 0
//   X = (1 - norm_coefficient_post) (X - r V / (sqrt(H) + epsilon))
#include "ops/common/optimizer.h"

namespace poprt::ops::training_adam_op {
namespace {

void expand(Expansion& e) {
  const Optimizer o(e, 2);
  const double alpha = o.attr("alpha", 0.9f), beta = o.attr("beta", 0.999f);
  for (size_t i = 0; i < o.count(); i++) {
    ir::Value* g = o.gradient(i);
    const auto average = [&](ir::Value* before, ir::Value* now, double keep) {
      return o.sum(o.scaled(before, keep), o.scaled(now, 1 - keep));
    };
    ir::Value* v = average(o.state(0, i), g, alpha);
    ir::Value* h = average(o.state(1, i), o.product(g, g), beta);
    ir::Value* t = o.updates(i);
    const DType type = o.x(i)->dtype();
    const auto rest = [&](double base) {
      return o.plus(o.scaled(e.newest("Pow", {e.number(type, base), t}), -1), 1);
    };
    ir::Value* adjusted = o.quotient(o.product(o.rate(i), o.root(rest(beta))), rest(alpha));
    ir::Value* started = e.newest("Greater", {t, e.number(type, 0)});
    ir::Value* rate = e.newest("Where", {started, adjusted, o.rate(i)});
    ir::Value* step = o.quotient(o.product(rate, v), o.plus(o.root(h), o.attr("epsilon", 1e-6f)));
    o.result(i, o.scaled(o.difference(o.x(i), step), 1 - o.attr("norm_coefficient_post", 0)),
             {v, h});
  }
}

}  // namespace
}  // namespace poprt::ops::training_adam_op

POPRT_EXPANSION_WITH_FACTS(training_adam_op, "ai.onnx.preview.training", "Adam", expand,
                           .trial = {"T[]; s64[]; T[4]; T[4]; T[4]; T[4]", "", 3})

// Inputs: R, T, parameters X, gradients G, momentums V. G += norm_coefficient X, V = alpha V + beta
// G (G if T = 0), then X -= R V (mode standard) or X -= R (G + alpha V) (mode nesterov).
#include "ops/common/optimizer.h"

namespace poprt::ops::training_momentum_op {
namespace {

void expand(Expansion& e) {
  const Optimizer o(e, 1);
  const std::string mode = e.node.string_attr("mode", "");
  e.check(mode == "standard" || mode == "nesterov", "mode must be standard or nesterov");
  for (const char* key : {"alpha", "beta", "norm_coefficient"})
    e.check(e.node.find_attr(key), fmt::format("attribute {} is missing", key));
  const double alpha = o.attr("alpha", 0);
  for (size_t i = 0; i < o.count(); i++) {
    const DType type = o.x(i)->dtype();
    ir::Value* g = o.gradient(i);
    ir::Value* started = e.newest("Greater", {o.updates(i), e.number(type, 0)});
    ir::Value* beta =
        e.newest("Where", {started, e.number(type, o.attr("beta", 0)), e.number(type, 1)});
    ir::Value* v = o.sum(o.scaled(o.state(0, i), alpha), o.product(beta, g));
    ir::Value* direction = mode == "standard" ? v : o.sum(g, o.scaled(v, alpha));
    o.result(i, o.difference(o.x(i), o.product(o.rate(i), direction)), {v});
  }
}

}  // namespace
}  // namespace poprt::ops::training_momentum_op

POPRT_EXPANSION_WITH_FACTS(
    training_momentum_op, "ai.onnx.preview.training", "Momentum", expand,
    .trial = {"T[]; s64[]; T[4]; T[4]; T[4]",
              R"(alpha = 0.9, beta = 0.9, norm_coefficient = 0.0, mode = "standard")", 2})

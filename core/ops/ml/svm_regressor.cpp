// The kernel function of X and the support vectors, times the coefficients, plus rho. Without
// support vectors, the coefficients define a linear model.
#include "ops/common/ml.h"

namespace poprt::ops::ml_svm_regressor_op {
namespace {

void expand(Expansion& e) {
  ir::Value* x = feature_matrix(e);
  const ir::Node& n = e.node;
  const auto coefficients = n.floats_attr("coefficients"), rho = n.floats_attr("rho");
  const int64_t count = n.int_attr("n_supports", 0), features = e.shape_of(x)[1];
  e.check(count >= 0 && count < (1 << 28) && !rho.empty(), "n_supports or rho is out of range");
  ir::Value* y = count > 0
                     ? e.add("MatMul", {svm_kernel(e, x, n.floats_attr("support_vectors"), count),
                                        reals(e, coefficients, {count, 1})})
                     : e.add("MatMul", {x, reals(e, coefficients, {features, 1})});
  y = e.plus(y, static_cast<double>(rho[0]));
  if (n.int_attr("one_class", 0))
    y = e.add("Where", {e.add("Greater", {y, e.number(DType::f32, 0)}), e.number(DType::f32, 1),
                        e.number(DType::f32, -1)});
  else
    y = transformed(e, y);
  e.out(0, y);
}

}  // namespace
}  // namespace poprt::ops::ml_svm_regressor_op

POPRT_EXPANSION_WITH_FACTS(
    ml_svm_regressor_op, "ai.onnx.ml", "SVMRegressor", expand,
    .trial = {"T[4,2]",
              "n_supports = 1, support_vectors = [1.0, 2.0], coefficients = [1.0], rho = [0.0]"})

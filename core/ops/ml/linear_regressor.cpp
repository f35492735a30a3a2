// X times the coefficients [targets, features], plus intercepts. As in ONNX Runtime, coefficients
// after those of the last target are ignored.
#include "base/checked.h"
#include "ops/common/ml.h"

namespace poprt::ops::ml_linear_regressor_op {
namespace {

void expand(Expansion& e) {
  ir::Value* x = feature_matrix(e);
  const int64_t targets = e.node.int_attr("targets", 1), features = e.shape_of(x)[1];
  e.check(targets > 0 && targets < (1 << 24), "targets is out of range");
  auto coefficients = e.node.floats_attr("coefficients");
  const int64_t used = checked_mul(targets, features, "coefficients");
  if (static_cast<int64_t>(coefficients.size()) > used)
    coefficients.resize(static_cast<size_t>(used));
  ir::Value* w = e.swap_last_two(reals(e, coefficients, {targets, features}));
  ir::Value* y = e.add("MatMul", {x, w});
  const auto intercepts = e.node.floats_attr("intercepts");
  if (!intercepts.empty()) y = e.add("Add", {y, reals(e, intercepts, {targets})});
  e.out(0, transformed(e, y));
}

}  // namespace
}  // namespace poprt::ops::ml_linear_regressor_op

POPRT_EXPANSION_WITH_FACTS(ml_linear_regressor_op, "ai.onnx.ml", "LinearRegressor", expand,
                           .trial = {"T[4,2]", "coefficients = [1.0, 2.0]"})

// Divides each row by its largest element, by the sum of its absolute values, or by its L2 norm.
#include "ops/common/ml.h"

namespace poprt::ops::ml_normalizer_op {
namespace {

void expand(Expansion& e) {
  const std::string norm = e.node.string_attr("norm", "MAX");
  const int64_t rank = static_cast<int64_t>(e.shape(0).size());
  e.check(rank == 1 || rank == 2, "X must be [features] or [rows, features]");
  ir::Value* x = e.cast(e.in(0), DType::f32);
  const std::string_view op = norm == "MAX" ? "ReduceMax" : norm == "L1" ? "ReduceL1" : "ReduceL2";
  if (norm != "MAX" && norm != "L1" && norm != "L2") e.fail_unsupported("norm '{}'", norm);
  ir::Value* by = e.newest(op, {x, e.ints({rank - 1})}, {{"keepdims", int64_t{1}}});
  // A row of zeros is not changed.
  by = e.add("Where", {e.add("Equal", {by, e.number(DType::f32, 0)}), e.number(DType::f32, 1), by});
  e.out(0, e.add("Div", {x, by}));
}

}  // namespace
}  // namespace poprt::ops::ml_normalizer_op

POPRT_EXPANSION(ml_normalizer_op, "ai.onnx.ml", "Normalizer", expand)

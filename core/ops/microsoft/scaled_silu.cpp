// Inputs: X, scale? (one number of any float type). Computes z * sigmoid(z) of z = scale * X, and
// rounds each step to the type of X. Without scale, attribute alpha is the factor.
#include "ops/common/expansion.h"

POPRT_EXPANSION(microsoft_scaled_silu_op, "com.microsoft", "ScaledSiLU", [](Expansion& e) {
  const DType type = e.dtype(0);
  ir::Value* scale = e.number(DType::f32, static_cast<double>(e.node.float_attr("alpha", 1)));
  if (e.has(1)) {
    e.check(element_count(e.shape(1)) == 1, "scale must have one element");
    scale = e.cast(e.reshape(e.in(1), {}), DType::f32);
  }
  ir::Value* z = e.cast(e.add("Mul", {e.cast(e.in(0), DType::f32), scale}), type);
  e.out(0, e.add("Mul", {z, e.cast(e.add("Sigmoid", {e.cast(z, DType::f32)}), type)}));
})

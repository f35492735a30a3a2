// (X - offset) * scale as f32. Each of the two is one number, or one number for each column.
#include "ops/common/ml.h"

namespace poprt::ops::ml_scaler_op {
namespace {

void expand(Expansion& e) {
  const auto factor = [&](const char* key) {
    const auto values = e.node.floats_attr(key);
    return reals(e, values, {static_cast<int64_t>(values.size())});
  };
  ir::Value* x = e.cast(e.in(0), DType::f32);
  if (e.node.find_attr("offset")) x = e.add("Sub", {x, factor("offset")});
  if (e.node.find_attr("scale")) x = e.add("Mul", {x, factor("scale")});
  e.check(e.shape_of(x) == e.shape(0), "offset or scale does not fit X");
  e.out(0, x);
}

}  // namespace
}  // namespace poprt::ops::ml_scaler_op

POPRT_EXPANSION_WITH_FACTS(ml_scaler_op, "ai.onnx.ml", "Scaler", expand,
                           .trial = {"T[4,4]", "offset = [1.0], scale = [2.0]"})

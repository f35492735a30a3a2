// X > threshold as 0 or 1, of the type of X.
#include "ops/common/ml.h"

namespace poprt::ops::ml_binarizer_op {
namespace {

void expand(Expansion& e) {
  ir::Value* threshold =
      e.number(e.dtype(0), static_cast<double>(e.node.float_attr("threshold", 0)));
  e.out(0, e.cast(e.add("Greater", {e.in(0), threshold}), e.dtype(0)));
}

}  // namespace
}  // namespace poprt::ops::ml_binarizer_op

POPRT_EXPANSION(ml_binarizer_op, "ai.onnx.ml", "Binarizer", expand)

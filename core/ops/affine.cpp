// alpha * x + beta.
#include "ops/common/early_onnx.h"

namespace poprt::ops {
namespace {

void expand(Expansion& e) {
  e.out(0, line(e, e.in(0), e.node.float_attr("alpha", 1), e.node.float_attr("beta", 0)));
}

}  // namespace
}  // namespace poprt::ops

POPRT_EARLY_ONNX_OP(affine_op, "Affine", expand)

// scale * x.
#include "ops/common/early_onnx.h"

namespace poprt::ops::scale_op {
namespace {

void expand(Expansion& e) {
  e.out(0, scale_and_shift(e, e.in(0), e.node.float_attr("scale", 1), 0));
}

}  // namespace
}  // namespace poprt::ops::scale_op

POPRT_EARLY_ONNX_OP(scale_op, "Scale", expand, .trial = {"T[4,4]", "scale = 2.0"})

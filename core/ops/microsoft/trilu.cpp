// The same as the operator of ai.onnx from opset 14 on.
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_trilu_op {
namespace {

void expand(Expansion& e) {
  e.out(0, e.newest("Trilu", {e.in(0), e.in_or_null(1)}, {{"upper", e.node.int_attr("upper", 1)}}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_trilu_op

POPRT_EXPANSION_WITH_FACTS(microsoft_trilu_op, "com.microsoft", "Trilu", expand,
                           .trial = {"T[4,4]"})

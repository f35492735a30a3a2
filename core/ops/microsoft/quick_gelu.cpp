// x * sigmoid(alpha x).
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_quick_gelu_op {
namespace {

void expand(Expansion& e) {
  e.out(0,
        e.add_node("Silu", "poprt", {e.in(0)}, {{"alpha", e.node.float_attr("alpha", 1.702f)}}, 1)
            ->output());
}

}  // namespace
}  // namespace poprt::ops::microsoft_quick_gelu_op

POPRT_EXPANSION(microsoft_quick_gelu_op, "com.microsoft", "QuickGelu", expand)

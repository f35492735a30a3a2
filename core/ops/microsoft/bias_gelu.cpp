// Gelu(A + B).
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_bias_gelu_op {
namespace {

void expand(Expansion& e) {
  e.out(0, e.add_node("Gelu", "poprt", {e.add("Add", {e.in(0), e.in(1)})}, {}, 1)->output());
}

}  // namespace
}  // namespace poprt::ops::microsoft_bias_gelu_op

POPRT_EXPANSION(microsoft_bias_gelu_op, "com.microsoft", "BiasGelu", expand)

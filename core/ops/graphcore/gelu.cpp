// Gelu computed with tanh.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_gelu_op {
namespace {

void expand(Expansion& e) {
  e.out(0, e.add_node("Gelu", "poprt", {e.in(0)}, {{"approximate", "tanh"}}, 1)->output());
}

}  // namespace
}  // namespace poprt::ops::graphcore_gelu_op

POPRT_EXPANSION(graphcore_gelu_op, "ai.graphcore", "Gelu", expand)

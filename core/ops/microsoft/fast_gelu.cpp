// Gelu of X + bias, computed with tanh.
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_fast_gelu_op {
namespace {

void expand(Expansion& e) {
  ir::Value* x = e.has(1) ? e.add("Add", {e.in(0), e.in(1)}) : e.in(0);
  e.out(0, e.add_node("Gelu", "poprt", {x}, {{"approximate", "tanh"}}, 1)->output());
}

}  // namespace
}  // namespace poprt::ops::microsoft_fast_gelu_op

POPRT_EXPANSION(microsoft_fast_gelu_op, "com.microsoft", "FastGelu", expand)

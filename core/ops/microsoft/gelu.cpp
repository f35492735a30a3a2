// x * (1 + erf(x / sqrt(2))) / 2.
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_gelu_op {
namespace {

void expand(Expansion& e) { e.out(0, e.add_node("Gelu", "poprt", {e.in(0)}, {}, 1)->output()); }

}  // namespace
}  // namespace poprt::ops::microsoft_gelu_op

POPRT_EXPANSION(microsoft_gelu_op, "com.microsoft", "Gelu", expand)

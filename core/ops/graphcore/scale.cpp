// x times a constant number.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_scale_op {
namespace {

void expand(Expansion& e) {
  e.out(0, e.scaled(e.in(0), static_cast<double>(e.node.float_attr("scale", 1))));
}

}  // namespace
}  // namespace poprt::ops::graphcore_scale_op

POPRT_EXPANSION(graphcore_scale_op, "ai.graphcore", "Scale", expand)

// x times a number.
#include "ops/common/expansion.h"

namespace poprt::ops {
namespace {

void expand(Expansion& e) {
  e.out(0, e.scaled(e.in(0), static_cast<double>(e.node.float_attr("scale", 1))));
}

}  // namespace
}  // namespace poprt::ops

POPRT_EXPANSION(graphcore_scale_op, "ai.graphcore", "Scale", expand)

// Another implementation of IsInf on the chip; the result is the same.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_is_inf_v2_op {
namespace {

void expand(Expansion& e) {
  e.out(0, e.newest("IsInf", {e.in(0)},
                    {{"detect_negative", e.node.int_attr("detect_negative", 1)},
                     {"detect_positive", e.node.int_attr("detect_positive", 1)}}));
}

}  // namespace
}  // namespace poprt::ops::graphcore_is_inf_v2_op

POPRT_EXPANSION_WITH_FACTS(graphcore_is_inf_v2_op, "ai.graphcore", "IsInfV2", expand,
                           .per_element = true)

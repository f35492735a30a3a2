// The same as the operator of ai.onnx.
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_gather_nd_op {
namespace {

void expand(Expansion& e) {
  e.out(0, e.newest("GatherND", {e.in(0), e.in(1)},
                    {{"batch_dims", e.node.int_attr("batch_dims", 0)}}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_gather_nd_op

POPRT_EXPANSION_WITH_FACTS(microsoft_gather_nd_op, "com.microsoft", "GatherND", expand,
                           .trial = {"T[4,4]; s64[1,2] = [0, 1]"})

// Another implementation of Where on the chip; the result is the same.
#include "ops/common/elementwise.h"
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_where_v2_op {
namespace {

void expand(Expansion& e) { e.out(0, e.add("Where", {e.in(0), e.in(1), e.in(2)})); }

}  // namespace
}  // namespace poprt::ops::graphcore_where_v2_op

POPRT_EXPANSION_WITH_FACTS(graphcore_where_v2_op, "ai.graphcore", "WhereV2", expand,
                           .per_element = true, .narrows = true,
                           .elementwise = step<ElementwiseOp::where>, .monotone = Monotone::all)

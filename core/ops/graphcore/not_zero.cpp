// 1 where x is not 0, otherwise 0, of the type of x.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_not_zero_op {
namespace {

void expand(Expansion& e) { e.out(0, e.cast(e.cast(e.in(0), DType::boolean), e.dtype(0))); }

}  // namespace
}  // namespace poprt::ops::graphcore_not_zero_op

POPRT_EXPANSION_WITH_FACTS(graphcore_not_zero_op, "ai.graphcore", "NotZero", expand,
                           .per_element = true)

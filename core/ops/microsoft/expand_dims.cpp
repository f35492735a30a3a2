// Inserts an axis of size 1. Constant input 1 is its position in the result.
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_expand_dims_op {
namespace {

void expand(Expansion& e) {
  const std::vector<int64_t> axis = e.const_ints(1);
  e.check(axis.size() == 1, "axis must be one number");
  e.out(0, e.newest("Unsqueeze", {e.in(0), e.ints({axis[0]})}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_expand_dims_op

POPRT_EXPANSION(microsoft_expand_dims_op, "com.microsoft", "ExpandDims", expand)

// Selects every strides[d]-th element of axis d.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_subsample_op {
namespace {

void expand(Expansion& e) {
  const auto strides = e.node.ints_attr("strides");
  const Shape x = e.shape(0);
  e.check(strides.size() == x.size(), "strides must have one number for each axis");
  std::vector<int64_t> axes;
  for (size_t d = 0; d < x.size(); d++) {
    e.check(strides[d] > 0, "strides must be positive");
    axes.push_back(static_cast<int64_t>(d));
  }
  e.out(0, e.newest("Slice", {e.in(0), e.ints(std::vector<int64_t>(x.size(), 0)), e.ints(x),
                              e.ints(axes), e.ints(strides)}));
}

}  // namespace
}  // namespace poprt::ops::graphcore_subsample_op

POPRT_EXPANSION_WITH_FACTS(graphcore_subsample_op, "ai.graphcore", "Subsample", expand,
                           .trial = {"T[4,4]", "strides = [2, 2]"})

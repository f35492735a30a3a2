// Reverses the axes in `dimensions`.
#include <cstdint>

#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_reverse_op {
namespace {

void expand(Expansion& e) {
  const auto axes = e.node.ints_attr("dimensions");
  if (axes.empty()) return e.out(0, e.add("Identity", {e.in(0)}));
  const size_t n = axes.size();
  e.out(0, e.newest("Slice", {e.in(0), e.ints(std::vector<int64_t>(n, -1)),
                              e.ints(std::vector<int64_t>(n, INT64_MIN)), e.ints(axes),
                              e.ints(std::vector<int64_t>(n, -1))}));
}

}  // namespace
}  // namespace poprt::ops::graphcore_reverse_op

POPRT_EXPANSION(graphcore_reverse_op, "ai.graphcore", "Reverse", expand)

// Counts, as s32, the boundaries less than each element of x (with `right`: less or equal).
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_bucketize_op {
namespace {

void expand(Expansion& e) {
  const Shape x = e.shape(0), bounds = e.shape(1);
  e.check(bounds.size() == 1, "boundaries must be a vector");
  Shape wide = x;
  wide.push_back(1);
  ir::Value* v = e.reshape(e.in(0), wide);
  ir::Value* below = e.node.int_attr("right", 0) ? e.add("Not", {e.add("Less", {v, e.in(1)})})
                                                 : e.add("Greater", {v, e.in(1)});
  e.out(0, e.newest("ReduceSum", {e.cast(below, DType::s32), e.ints({-1})},
                    {{"keepdims", int64_t{0}}}));
}

}  // namespace
}  // namespace poprt::ops::graphcore_bucketize_op

POPRT_EXPANSION(graphcore_bucketize_op, "ai.graphcore", "Bucketize", expand)

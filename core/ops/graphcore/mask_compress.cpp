// Compress with a static shape. The elements along `axis` (of the flattened input if there is no
// axis) whose mask is not 0 move to the front in their order, and zeros fill the rest. A second
// output contains their number, s32 [1]. No definition of the operator was published; this one has
// the properties that a pass needs to replace Compress.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_mask_compress_op {
namespace {

void expand(Expansion& e) {
  const bool flat = !e.node.find_attr("axis");
  const Shape x = flat ? Shape{element_count(e.shape(0))} : e.shape(0);
  const auto rank = static_cast<int64_t>(x.size());
  const int64_t given = e.node.int_attr("axis", 0);
  e.check(given >= -rank && given < rank, "axis is out of range");
  const int64_t axis = normalize_axis(given, rank), count = x[static_cast<size_t>(axis)];
  e.check(e.shape(1) == Shape{count},
          "the mask must have one element for each place along the axis");
  ir::Value* kept = e.add_node("Count", "poprt", {e.in(1)}, {}, 1)->output();
  ir::Value* at = e.add_node("NonZero", "poprt", {e.in(1)}, {}, 1)->output();
  // Places after the last one are -1, which gathers the last element. The Where below replaces it.
  ir::Value* moved =
      e.newest("Gather", {e.reshape(e.in(0), x), e.reshape(at, {count})}, {{"axis", axis}});
  Shape along(x.size(), 1);
  along[static_cast<size_t>(axis)] = count;
  ir::Value* real = e.newest("Less", {e.reshape(e.iota(count), along), kept});
  e.out(0, e.newest("Where", {real, moved, e.number(e.dtype(0), 0)}));
  if (e.wants(1)) e.out(1, e.cast(e.reshape(kept, {1}), DType::s32));
}

}  // namespace
}  // namespace poprt::ops::graphcore_mask_compress_op

POPRT_EXPANSION_WITH_FACTS(graphcore_mask_compress_op, "ai.graphcore", "MaskCompress", expand,
                           .trial = {"T[4,4]; bool[4]", "axis = 0"})

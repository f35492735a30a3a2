// Compress with a static shape: the elements along `axis` (of the flattened input without it) whose
// mask is not 0 move to the front in their order, zeros fill the rest. A second output has their
// number, s32 [1]. No definition was published; this is what a pass that replaces Compress needs.
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
  e.check(e.shape(1) == Shape{count}, "the mask must have an element for each along the axis");
  ir::Value* kept = e.add_node("Count", "poprt", {e.in(1)}, {}, 1)->output();
  ir::Value* at = e.add_node("NonZero", "poprt", {e.in(1)}, {}, 1)->output();
  // Places past the last one are -1, the last element: any will do.
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

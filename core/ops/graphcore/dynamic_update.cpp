// Inputs: tensor, index [axes], slice. Returns the tensor with the slice written into the window.
#include "ops/common/dynamic_slice.h"

namespace poprt::ops::graphcore_dynamic_update_op {
namespace {

void expand(Expansion& e) {
  const DynamicWindow w = dynamic_window(e);
  const Shape x = e.shape(0);
  Shape window = x;
  for (size_t i = 0; i < w.axes.size(); i++) window[w.axes[i]] = w.sizes[i];
  e.check(e.shape(2) == window, "slice does not fit the window");
  ir::Value* slice = e.in(2);
  ir::Value* inside = nullptr;
  for (size_t i = 0; i < w.axes.size(); i++) {
    // Computes for each row of the tensor its place in the slice, and whether the slice contains
    // it.
    const int64_t count = x[w.axes[i]];
    ir::Value* place = e.add("Sub", {e.iota(count), w.starts[i]});
    ir::Value* here = e.add("And", {e.add("Not", {e.add("Less", {place, e.ints({0})})}),
                                    e.add("Less", {place, e.ints({w.sizes[i]})})});
    place = e.newest("Max", {e.newest("Min", {place, e.ints({w.sizes[i] - 1})}), e.ints({0})});
    slice = e.add("Gather", {slice, place}, {{"axis", static_cast<int64_t>(w.axes[i])}});
    Shape along(x.size(), 1);
    along[w.axes[i]] = count;
    here = e.reshape(here, along);
    inside = inside ? e.add("And", {inside, here}) : here;
  }
  e.out(0, e.add("Where", {inside, slice, e.in(0)}));
}

}  // namespace
}  // namespace poprt::ops::graphcore_dynamic_update_op

POPRT_EXPANSION_WITH_FACTS(graphcore_dynamic_update_op, "ai.graphcore", "DynamicUpdate", expand,
                           .trial = {"T[4,4]; s32[1]; T[2,4]", "axes = [0], sizes = [2]"})

// Inputs: tensor, index [axes].
#include "ops/common/dynamic_slice.h"

namespace poprt::ops::graphcore_dynamic_slice_op {
namespace {

void expand(Expansion& e) {
  const DynamicWindow w = dynamic_window(e);
  ir::Value* x = e.in(0);
  for (size_t i = 0; i < w.axes.size(); i++)
    x = e.add("Gather", {x, e.add("Add", {e.iota(w.sizes[i]), w.starts[i]})},
              {{"axis", static_cast<int64_t>(w.axes[i])}});
  e.out(0, x);
}

}  // namespace
}  // namespace poprt::ops::graphcore_dynamic_slice_op

POPRT_EXPANSION_WITH_FACTS(graphcore_dynamic_slice_op, "ai.graphcore", "DynamicSlice", expand,
                           .trial = {"T[4,4]; s32[1]", "axes = [0], sizes = [2]"})

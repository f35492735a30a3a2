// GridSample of ai.onnx with different names for the modes.
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_grid_sample_op {
namespace {

void expand(Expansion& e) {
  const std::string mode = e.node.string_attr("mode", "bilinear");
  e.out(0, e.newest("GridSample", {e.in(0), e.in(1)},
                    {{"mode", mode == "bilinear"  ? "linear"
                              : mode == "bicubic" ? "cubic"
                                                  : mode},
                     {"padding_mode", e.node.string_attr("padding_mode", "zeros")},
                     {"align_corners", e.node.int_attr("align_corners", 0)}}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_grid_sample_op

POPRT_EXPANSION_WITH_FACTS(microsoft_grid_sample_op, "com.microsoft", "GridSample", expand,
                           .trial = {"T[1,4,4,4]; T[1,2,2,2]"})

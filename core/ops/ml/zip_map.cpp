// Keys are class labels that the model states; the map's values, which are all that a run computes,
// stay a tensor [rows, classes].
#include "ops/common/ml.h"

namespace poprt::ops::ml_zip_map_op {
namespace {

void expand(Expansion& e) { e.out(0, e.add("Identity", {e.in(0)})); }

}  // namespace
}  // namespace poprt::ops::ml_zip_map_op

POPRT_EXPANSION(ml_zip_map_op, "ai.onnx.ml", "ZipMap", expand)

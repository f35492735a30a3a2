// The result is a map from class labels to scores. The labels are attributes of the model, so only
// the scores are computed; they stay a tensor [rows, classes].
#include "ops/common/ml.h"

namespace poprt::ops::ml_zip_map_op {
namespace {

void expand(Expansion& e) { e.out(0, e.add("Identity", {e.in(0)})); }

}  // namespace
}  // namespace poprt::ops::ml_zip_map_op

POPRT_EXPANSION(ml_zip_map_op, "ai.onnx.ml", "ZipMap", expand)

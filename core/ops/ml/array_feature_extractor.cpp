// Selects the columns Y of X. A vector X is treated as one row.
#include "ops/common/ml.h"
#include "ops/common/value_range.h"

namespace poprt::ops::ml_array_feature_extractor_op {
namespace {

void expand(Expansion& e) {
  const Shape x = e.shape(0);
  e.check(!x.empty(), "X must not be a scalar");
  check_places(e.node, 1, x.back(), "index");
  ir::Value* y = e.add("Gather", {e.in(0), e.reshape(e.in(1), {element_count(e.shape(1))})},
                       {{"axis", int64_t{-1}}});
  if (x.size() == 1) y = e.reshape(y, {1, e.shape_of(y)[0]});
  e.out(0, y);
}

}  // namespace
}  // namespace poprt::ops::ml_array_feature_extractor_op

POPRT_EXPANSION_WITH_FACTS(ml_array_feature_extractor_op, "ai.onnx.ml", "ArrayFeatureExtractor",
                           expand, .text_form = TextForm::passes_on, .text_inputs = 0b1,
                           .trial = {"T[4,4]; s64[1]"})

// Concatenates all inputs along the columns as f32. inputdimensions contains the number of columns
// of each input in the result: longer rows are cut, shorter rows filled up with zeros.
#include "ops/common/ml.h"

namespace poprt::ops::ml_feature_vectorizer_op {
namespace {

void expand(Expansion& e) {
  const auto widths = e.node.ints_attr("inputdimensions");
  std::vector<ir::Value*> parts;
  for (size_t i = 0; i < e.node.inputs().size(); i++) {
    const Shape s = e.shape(i);
    e.check(!s.empty(), "an input is a scalar");
    const int64_t rows = s.size() == 1 ? 1 : s[0];
    const int64_t columns = rows ? element_count(s) / rows : 0;
    const int64_t width = i < widths.size() ? widths[i] : columns;
    e.check(width >= 0 && width < (1 << 24), "inputdimensions is out of range");
    ir::Value* part = e.cast(e.reshape(e.in(i), {rows, columns}), DType::f32);
    if (width <= columns) {
      parts.push_back(e.slice(part, 1, 0, width));
    } else {
      parts.push_back(part);
      parts.push_back(e.constant(Tensor::zeros(DType::f32, {rows, width - columns})));
    }
  }
  e.check(!parts.empty(), "the node has no inputs");
  e.out(0, e.concat(parts, 1));
}

}  // namespace
}  // namespace poprt::ops::ml_feature_vectorizer_op

POPRT_EXPANSION(ml_feature_vectorizer_op, "ai.onnx.ml", "FeatureVectorizer", expand)

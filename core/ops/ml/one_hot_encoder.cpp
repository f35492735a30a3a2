// A new last axis with a one where an element is that category.
#include "ops/common/ml.h"

namespace poprt::ops {
namespace {

void expand(Expansion& e) {
  const auto categories = e.node.ints_attr("cats_int64s");
  const ir::Attribute* a = e.node.find_attr("cats_strings");
  if (categories.empty() && a) e.fail_unsupported("cats_strings; the device has no strings");
  Shape wide = e.shape(0);
  const auto count = static_cast<int64_t>(categories.size());
  wide.push_back(1);
  ir::Value* x = e.reshape(e.in(0), wide);
  // As ONNX Runtime, which truncates.
  x = e.cast(x, DType::s64);
  e.out(0, e.cast(e.add("Equal", {x, e.constant(Tensor::of<int64_t>(
                                         {count}, std::span<const int64_t>(categories)))}),
                  DType::f32));
}

}  // namespace
}  // namespace poprt::ops

POPRT_EXPANSION(ml_one_hot_encoder_op, "ai.onnx.ml", "OneHotEncoder", expand)

// A tensor with the values of an attribute.
#include "ops/common/early_onnx.h"

namespace poprt::ops::given_tensor_fill_op {
namespace {

void expand(Expansion& e) {
  const std::vector<float> values = e.node.floats_attr("values");
  const Shape shape = filled_shape(e);
  e.check(element_count(shape) == static_cast<int64_t>(values.size()),
          "the number of values is not that of the shape's elements");
  e.out(0, e.newest("Identity",
                    {e.constant(Tensor::of<float>(shape, std::span<const float>(values)))}));
}

}  // namespace
}  // namespace poprt::ops::given_tensor_fill_op

POPRT_EARLY_ONNX_OP(given_tensor_fill_op, "GivenTensorFill", expand,
                    .trial = {"", "shape = [2], values = [1.0, 2.0]"})

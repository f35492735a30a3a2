// scale * x + bias of an image [N,C,H,W], with one bias for each channel.
#include "ops/common/early_onnx.h"

namespace poprt::ops::image_scaler_op {
namespace {

void expand(Expansion& e) {
  const Shape x = e.shape(0);
  e.check(x.size() == 4, "the input is not an image [N,C,H,W]");
  const std::vector<float> bias = e.node.floats_attr("bias");
  ir::Value* y = scale_and_shift(e, e.in(0), e.node.float_attr("scale", 1), 0);
  if (!bias.empty()) {
    e.check(static_cast<int64_t>(bias.size()) == x[1],
            "bias does not have one value for each channel");
    const Tensor channels = Tensor::of<float>({x[1], 1, 1}, std::span<const float>(bias));
    y = e.newest("Add", {y, e.cast(e.constant(channels), e.dtype(0))});
  }
  e.out(0, y);
}

}  // namespace
}  // namespace poprt::ops::image_scaler_op

POPRT_EARLY_ONNX_OP(image_scaler_op, "ImageScaler", expand,
                    .trial = {"T[1,4,4,4]", "scale = 2.0, bias = [1.0, 2.0, 3.0, 4.0]"})

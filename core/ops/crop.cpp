// Removes the borders of an image [N,C,H,W]: left, top, right, bottom. With scale = [height,
// width], only the left and the top border are removed, and that many rows and columns are kept.
#include "ops/common/early_onnx.h"

namespace poprt::ops::crop_op {
namespace {

void expand(Expansion& e) {
  const Shape x = e.shape(0);
  const std::vector<int64_t> border = e.node.ints_attr("border"), scale = e.node.ints_attr("scale");
  e.check(x.size() == 4, "the input is not an image [N,C,H,W]");
  e.check(border.size() == 4, "border does not have the four entries left, top, right, bottom");
  e.check(scale.empty() || scale.size() == 2, "scale does not have the entries height, width");
  for (const int64_t b : border) e.check(b >= 0, "a border is negative");
  for (const int64_t s : scale) e.check(s >= 0, "a scale is negative");
  ir::Value* y = e.in(0);
  for (size_t i = 0; i < 2; i++) {  // rows, columns
    const int64_t size = x[2 + i], begin = border[1 - i], last = border[3 - i];
    e.check(begin <= size && last <= size - begin, "the borders are larger than the image");
    e.check(scale.empty() || scale[i] <= size - begin, "scale is larger than the image");
    y = e.slice(y, static_cast<int64_t>(2 + i), begin,
                scale.empty() ? size - last : begin + scale[i]);
  }
  e.out(0, y);
}

}  // namespace
}  // namespace poprt::ops::crop_op

POPRT_EARLY_ONNX_OP(crop_op, "Crop", expand, .trial = {"T[1,4,4,4]", "border = [1, 1, 1, 1]"})

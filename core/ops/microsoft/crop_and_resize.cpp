// X [N,C,H,W], rois [R,4] (y1, x1, y2, x2 as parts of height and width), batch_indices [R],
// crop_size [2]. Points outside of X become extrapolation_value.
#include "ops/common/expansion.h"

namespace poprt::ops {
namespace {

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  const std::string mode = n.string_attr("mode", "bilinear");
  if (mode != "bilinear" && mode != "nearest") e.fail_unsupported("mode '{}'", mode);
  const Shape x = e.shape(0), rois = e.shape(1);
  const std::vector<int64_t> crop = e.const_ints(3);
  e.check(x.size() == 4 && rois.size() == 2 && rois[1] == 4 && crop.size() == 2 && crop[0] > 0 &&
              crop[1] > 0 && crop[0] < (1 << 20) && crop[1] < (1 << 20),
          "X must be [N,C,H,W], rois [R,4] and crop_size two positive numbers");
  const DType type = e.dtype(0);
  // Positions along an axis, from 0 (first pixel) to 1 (last one): [R, count].
  const auto positions = [&](int64_t first, int64_t last, int64_t count) {
    ir::Value* low = e.slice(e.in(1), 1, first, first + 1);
    ir::Value* high = e.slice(e.in(1), 1, last, last + 1);
    if (count == 1) return e.scaled(e.add("Add", {low, high}), 0.5);
    std::vector<float> parts;
    for (int64_t i = 0; i < count; i++)
      parts.push_back(static_cast<float>(i) / static_cast<float>(count - 1));
    ir::Value* part =
        e.cast(e.constant(Tensor::of<float>({1, count}, std::span<const float>(parts))), type);
    return e.add("Add", {low, e.add("Mul", {e.add("Sub", {high, low}), part})});
  };
  ir::Value* y = e.reshape(positions(0, 2, crop[0]), {rois[0], crop[0], 1});
  ir::Value* z = e.reshape(positions(1, 3, crop[1]), {rois[0], 1, crop[1]});
  const Shape grid = {rois[0], crop[0], crop[1]};
  const Shape column = {rois[0], crop[0], crop[1], 1};
  const auto centred = [&](ir::Value* v) {
    return e.reshape(e.expand(e.plus(e.scaled(v, 2), -1), grid), column);
  };
  ir::Value* picked = e.add("Gather", {e.in(0), e.in(2)});
  // Ties go up, which GridSample does not do.
  const auto snapped = [&](ir::Value* v, int64_t size) {
    if (mode == "bilinear" || size < 2) return v;
    const auto steps = static_cast<double>(size - 1);
    return e.scaled(e.add("Floor", {e.plus(e.scaled(v, steps), 0.5)}), 1 / steps);
  };
  ir::Value* out = e.newest(
      "GridSample", {picked, e.concat({centred(snapped(z, x[3])), centred(snapped(y, x[2]))}, 3)},
      {{"mode", mode == "bilinear" ? "linear" : "nearest"},
       {"padding_mode", "border"},
       {"align_corners", int64_t{1}}});
  const auto outside = [&](ir::Value* v) {
    return e.add("Or",
                 {e.add("Less", {v, e.number(type, 0)}), e.add("Greater", {v, e.number(type, 1)})});
  };
  ir::Value* far = e.reshape(e.add("Or", {outside(y), outside(z)}), {rois[0], 1, crop[0], crop[1]});
  e.out(0, e.add("Where",
                 {far, e.number(type, static_cast<double>(n.float_attr("extrapolation_value", 0))),
                  out}));
}

}  // namespace
}  // namespace poprt::ops

POPRT_EXPANSION(microsoft_crop_and_resize_op, "com.microsoft", "CropAndResize", expand)

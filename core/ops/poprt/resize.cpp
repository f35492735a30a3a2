// poprt.Resize: the input and the output are blocked, [N, CB, H, W, 16]. Attributes are the same as
// for ONNX Resize 19, plus `scales` [h, w] or `sizes` [h, w]. If both are given, sizes determine
// the shape of the result and scales the coordinates of the pixels.
#include "ops/common/resize.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"

namespace poprt::ops::poprt_resize_op {
namespace {

ResizeSpec spec_of(const ir::Node& node, const Shape& in) {
  if (in.size() != 5 || in[4] != 16)
    fail(ErrorCode::invalid_argument, "{}: expected a blocked input, found {}", node.describe(),
         shape_string(in));
  ResizeSpec spec = resize_attributes(node, 19);
  const auto scales = node.floats_attr("scales");
  const auto sizes = node.ints_attr("sizes");
  const auto fits = [](size_t n) { return n == 0 || n == 2; };
  if (!fits(scales.size()) || !fits(sizes.size()) || (scales.empty() && sizes.empty()))
    fail(ErrorCode::invalid_argument, "{}: expected scales [h, w] or sizes [h, w]",
         node.describe());
  constexpr int64_t kMostSize = 1'000'000'000;
  for (const int64_t size : sizes)
    if (size < 0 || size > kMostSize)
      fail(ErrorCode::invalid_argument, "{}: size {} is out of range", node.describe(), size);
  for (size_t i = 0; i < 2; i++) {
    ResizeAxis a;
    a.axis = 2 + i;
    a.in = in[a.axis];
    a.out = sizes.empty() ? (a.in < 0 ? kUnknownDim : resized(node, a.in, scales[i])) : sizes[i];
    a.scale = !scales.empty() ? scales[i]
              : a.in > 0      ? static_cast<float>(a.out) / static_cast<float>(a.in)
                              : 1.0f;
    spec.axes.push_back(a);
  }
  if (spec.coordinates == "tf_crop_and_resize")
    fail(ErrorCode::unimplemented, "{}: tf_crop_and_resize is not supported for blocked layouts",
         node.describe());
  return spec;
}

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  if (!in.has_shape) return ctx.out_dtype(0, in.dtype);
  Shape out = in.shape;
  for (const ResizeAxis& a : spec_of(ctx.node, in.shape).axes) out[a.axis] = a.out;
  ctx.out(0, in.dtype, std::move(out));
}

void lower(LowerContext& ctx) { lower_resize(ctx, spec_of(ctx.node, ctx.in_shape(0))); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Resize",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = [](AxesContext& c) { axes_of_resize(c, spec_of(c.node, c.in(0))); },
                   .facts = {.trial = {"T[1,1,4,4,16]", "sizes = [8, 8]"}}};

}  // namespace poprt::ops::poprt_resize_op

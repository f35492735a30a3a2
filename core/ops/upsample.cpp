#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/movement.h"
#include "ops/common/resize.h"
#include "ops/common/value_since.h"

namespace poprt::ops::upsample_op {
namespace {

template <class Context>
std::optional<ResizeSpec> spec_of(const Context& ctx, const Shape& in) {
  const ir::Node& node = ctx.node;
  const std::string mode = node.string_attr("mode", "nearest");
  if (mode == "cubic")
    fail(ErrorCode::invalid_argument,
         "{}: Upsample has no mode 'cubic'; Resize has it from opset 11 on: convert the model",
         node.describe());
  check_value_since(node, ctx.opset(), "mode", mode, {"linear"}, 7);
  ResizeSpec spec = resize_attributes(node, 10);
  std::vector<double> scales;
  if (ctx.opset() >= 9) {
    const Tensor* t = ctx.constant(1);
    if (!t) return std::nullopt;
    scales = t->to_doubles();
  } else if (ctx.opset() >= 7) {
    for (const float s : node.floats_attr("scales")) scales.push_back(static_cast<double>(s));
  } else {
    for (const char* key : {"height_scale", "width_scale"})
      scales.push_back(static_cast<double>(node.float_attr(key, 1)));
    if (in.size() >= 2) scales.insert(scales.begin(), in.size() - 2, 1.0);
  }
  if (scales.size() != in.size())
    fail(ErrorCode::invalid_argument, "{}: {} scales for a rank of {}", node.describe(),
         scales.size(), in.size());
  for (size_t i = 0; i < in.size(); i++) {
    const auto scale = static_cast<float>(scales[i]);
    if (!(scale >= 1))
      fail(ErrorCode::invalid_argument, "{}: scale {} is below 1", node.describe(), scale);
    spec.axes.push_back({i, in[i], in[i] < 0 ? kUnknownDim : resized(node, in[i], scale), scale});
  }
  return spec;
}

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  if (!in.has_shape) return ctx.out_dtype(0, in.dtype);
  const auto spec = spec_of(ctx, in.shape);
  Shape out(in.shape.size(), kUnknownDim);
  if (spec)
    for (const ResizeAxis& a : spec->axes) out[a.axis] = a.out;
  ctx.out(0, in.dtype, std::move(out));
}

void lower(LowerContext& ctx) {
  const auto spec = spec_of(ctx, ctx.in_shape(0));
  if (!spec) ctx.fail_unsupported("scales must be constant");
  lower_resize(ctx, *spec);
}

void map_axes(AxesContext& ctx) {
  if (const auto spec = spec_of(ctx, ctx.in(0))) axes_of_resize(ctx, *spec);
}

}  // namespace

extern const OpDef def;
// Opset 10 deprecated Upsample in favour of Resize.
const OpDef def = {.name = "Upsample",
                   .until = 9,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::resize,
                   .facts = {.shape_inputs = 0b10,
                             .constant_inputs = 0b10,
                             .f32_inputs = ~0b1u,
                             .trial = {"T[1,4,4,4]; f32[4] = [1.0, 1.0, 2.0, 2.0]"}}};

}  // namespace poprt::ops::upsample_op

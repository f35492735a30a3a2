#include "ops/common/resize.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"

#include <algorithm>
#include <cmath>

#include "ops/common/movement.h"

namespace poprt::ops::resize_op {
namespace {

// Returns nullopt if scales or sizes are not constant. Requires the rank of the input.
template <class Context>
std::optional<ResizeSpec> spec_of(const Context& ctx, const Shape& in) {
  const ir::Node& node = ctx.node;
  const auto opset = ctx.opset();
  ResizeSpec spec = resize_attributes(node, opset);
  const auto given = [&](size_t i) {
    const ir::Value* v = node.input(i);
    return v && !(v->type.has_shape && v->shape().size() == 1 && v->shape()[0] == 0);
  };
  const size_t scales_at = opset < 11 ? 1 : 2;
  const bool by_scales = given(scales_at), by_sizes = opset >= 11 && given(3);
  if (by_scales == by_sizes)
    fail(ErrorCode::invalid_argument, "{}: expected either scales or sizes", node.describe());

  std::vector<size_t> axes(in.size());
  for (size_t i = 0; i < axes.size(); i++) axes[i] = i;
  if (node.find_attr("axes")) {
    const auto list = node.ints_attr("axes");
    axes.clear();
    for (const int64_t a : list) {
      axes.push_back(static_cast<size_t>(normalize_axis(a, static_cast<int64_t>(in.size()))));
      if (std::count(axes.begin(), axes.end(), axes.back()) > 1)
        fail(ErrorCode::invalid_argument, "{}: axis {} is given twice", node.describe(), a);
    }
  }
  const auto check_count = [&](size_t found, std::string_view what, size_t wanted) {
    if (found != wanted)
      fail(ErrorCode::invalid_argument, "{}: {} has {} entries, expected {}", node.describe(), what,
           found, wanted);
  };
  spec.axes.resize(axes.size());
  for (size_t i = 0; i < axes.size(); i++) {
    spec.axes[i].axis = axes[i];
    spec.axes[i].in = in[axes[i]];
  }
  if (by_scales) {
    const Tensor* t = ctx.constant(scales_at);
    if (!t) return std::nullopt;
    const auto scales = t->to_doubles();
    check_count(scales.size(), "scales", axes.size());
    for (size_t i = 0; i < axes.size(); i++) {
      ResizeAxis& a = spec.axes[i];
      a.scale = static_cast<float>(scales[i]);
      a.out = a.in < 0 ? kUnknownDim : resized(node, a.in, a.scale);
    }
  } else {
    const auto sizes = ctx.ints(3);
    if (!sizes) return std::nullopt;
    check_count(sizes->size(), "sizes", axes.size());
    const std::string policy = node.string_attr("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
      fail(ErrorCode::invalid_argument, "{}: keep_aspect_ratio_policy '{}' is unknown",
           node.describe(), policy);
    float common = 0;
    for (size_t i = 0; i < axes.size(); i++) {
      ResizeAxis& a = spec.axes[i];
      a.out = (*sizes)[i];
      if (a.out < 0 || a.out > 1'000'000'000)
        fail(ErrorCode::invalid_argument, "{}: size {} is out of range", node.describe(), a.out);
      if (a.in > 0) a.scale = static_cast<float>(a.out) / static_cast<float>(a.in);
      if (i == 0) common = a.scale;
      common = policy == "not_larger" ? std::min(common, a.scale) : std::max(common, a.scale);
    }
    if (policy != "stretch") {
      if (policy != "not_larger" && policy != "not_smaller")
        fail(ErrorCode::invalid_argument, "{}: keep_aspect_ratio_policy '{}' is unknown",
             node.describe(), policy);
      for (ResizeAxis& a : spec.axes) {
        a.scale = common;
        a.out = a.in < 0 ? kUnknownDim
                         : static_cast<int64_t>(std::round(static_cast<float>(a.in) * common));
      }
    }
  }
  if (spec.coordinates == "tf_crop_and_resize") {
    const Tensor* roi = ctx.constant(1);
    if (!roi)
      fail(ErrorCode::unimplemented, "{}: the region of interest must be constant",
           node.describe());
    const auto r = roi->to_doubles();
    check_count(r.size(), "roi", 2 * axes.size());
    for (size_t i = 0; i < axes.size(); i++) {
      spec.axes[i].roi_start = static_cast<float>(r[i]);
      spec.axes[i].roi_end = static_cast<float>(r[axes.size() + i]);
    }
  }
  return spec;
}

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  if (!in.has_shape) return ctx.out_dtype(0, in.dtype);
  const auto spec = spec_of(ctx, in.shape);
  Shape out(in.shape.size(), kUnknownDim);
  if (spec) {
    out = in.shape;
    for (const ResizeAxis& a : spec->axes) out[a.axis] = a.out;
  }
  ctx.out(0, in.dtype, std::move(out));
}

void lower(LowerContext& ctx) {
  const auto spec = spec_of(ctx, ctx.in_shape(0));
  if (!spec) ctx.fail_unsupported("scales and sizes must be constant");
  lower_resize(ctx, *spec);
}

void map_axes(AxesContext& ctx) {
  if (const auto spec = spec_of(ctx, ctx.in(0))) axes_of_resize(ctx, *spec);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Resize",
                   .since = 10,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::resize,
                   .facts = {.shape_inputs = 0b1100,
                             .constant_inputs = 0b1110,
                             .f32_inputs = ~0b1u,
                             .trial = {"T[1,4,4,4]; _; _; s64[4] = [1, 4, 8, 8]"}}};

}  // namespace poprt::ops::resize_op

#include "ops/common/resize.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/calls/copy.h"
#include "kernels/calls/resample.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"
#include "ops/common/scalar.h"
#include "ops/common/value_since.h"

namespace poprt::ops {
namespace {

// The coordinate of output pixel `o` in the input. Single precision gives the same ties of nearest
// neighbours as ONNX Runtime; f64 computes its weights in double.
template <class T>
T coordinate(const ResizeSpec& spec, const ResizeAxis& a, int64_t o) {
  const auto x = static_cast<T>(o), in = static_cast<T>(a.in), out = static_cast<T>(a.out);
  const auto scale = static_cast<T>(a.scale), start = static_cast<T>(a.roi_start),
             end = static_cast<T>(a.roi_end);
  const std::string& mode = spec.coordinates;
  constexpr T kHalf = T{0.5};
  const T half = (x + kHalf) / scale - kHalf;
  if (mode == "asymmetric") return x / scale;
  if (mode == "align_corners") {
    // Uses the resized length before rounding down, as the reference and the test vectors of ONNX
    // do. ONNX Runtime uses the integer, which differs if in * scale is not one.
    const T length = scale * in,
            last = std::abs(length - out) < static_cast<T>(1e-3f) ? out - 1 : length - 1;
    return a.out == 1 ? 0 : x * (in - 1) / last;
  }
  if (mode == "pytorch_half_pixel") return a.out > 1 ? half : 0;
  if (mode == "tf_half_pixel_for_nn") return (x + kHalf) / scale;
  if (mode == "tf_crop_and_resize")
    return a.out > 1 ? start * (in - 1) + x * (end - start) * (in - 1) / (out - 1)
                     : kHalf * (start + end) * (in - 1);
  if (mode == "half_pixel_symmetric") {
    const T adjustment = out / (scale * in), center = in / 2;
    return center * (1 - adjustment) + half;
  }
  return half;
}

template <class T>
bool outside(const ResizeSpec& spec, const ResizeAxis& a, T x) {
  return spec.coordinates == "tf_crop_and_resize" && (x < 0 || x > static_cast<T>(a.in - 1));
}

// A hostile scale or region may produce any coordinate.
template <class T>
int64_t whole(T x) {
  return static_cast<int64_t>(std::clamp(std::isnan(x) ? T{0} : x, T{-1e9}, T{4e9}));
}

std::vector<int64_t> nearest_map(const ResizeSpec& spec, const ResizeAxis& a) {
  std::vector<int64_t> map;
  for (int64_t o = 0; o < a.out; o++) {
    const float x = coordinate<float>(spec, a, o);
    if (outside(spec, a, x)) {
      map.push_back(-1);
      continue;
    }
    float n;
    if (spec.nearest == "floor")
      n = std::floor(x);
    else if (spec.nearest == "ceil")
      n = std::ceil(x);
    else if (spec.nearest == "simple")
      n = a.scale < 1 ? std::ceil(x) : std::trunc(x);
    else if (spec.nearest == "round_prefer_ceil")  // ONNX Runtime rounds almost a half up, too
      n = std::floor(static_cast<float>(static_cast<double>(x) + 0.5 + 1e-6));
    else
      n = std::ceil(x - 0.5f);
    map.push_back(std::clamp<int64_t>(whole(n), 0, a.in - 1));
  }
  return map;
}

double linear_weight(double d) { return std::max(0.0, 1.0 - std::abs(d)); }

double cubic_weight(double d, double a) {
  d = std::abs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

struct Taps {
  int64_t count = 0;
  std::vector<int64_t> index;
  std::vector<double> weight;
};

template <class T>
Taps taps_of(const ResizeSpec& spec, const ResizeAxis& a) {
  const bool cubic = spec.mode == "cubic";
  const double radius = cubic ? 2 : 1;
  const double shrink = spec.antialias ? std::min(1.0, static_cast<double>(a.scale)) : 1.0;
  // Only `taps.count` sources can have a weight; the first one is floor(x) + first.
  const auto first = static_cast<int64_t>(std::floor(-radius / shrink)) + 1;
  Taps taps;
  taps.count = 2 - 2 * first;
  for (int64_t o = 0; o < a.out; o++) {
    const T x = coordinate<T>(spec, a, o);
    const auto n = static_cast<size_t>(taps.count);
    if (outside(spec, a, x)) {
      taps.index.push_back(-1);
      taps.index.resize(taps.index.size() + n - 1, 0);
      taps.weight.resize(taps.weight.size() + n, 0.0);
      continue;
    }
    const auto base = whole(std::floor(x));
    const double ratio = std::clamp(static_cast<double>(x) - static_cast<double>(base), 0.0, 1.0);
    std::vector<double> w(n);
    double sum = 0;
    for (size_t t = 0; t < n; t++) {
      const int64_t offset = first + static_cast<int64_t>(t);
      const double d = (static_cast<double>(offset) - ratio) * shrink;
      w[t] = cubic ? cubic_weight(d, static_cast<double>(spec.cubic_a)) : linear_weight(d);
      const int64_t i = base + offset;
      if (spec.exclude_outside && (i < 0 || i >= a.in)) w[t] = 0;
      sum += w[t];
      taps.index.push_back(std::clamp<int64_t>(i, 0, a.in - 1));
    }
    for (const double v : w) taps.weight.push_back(sum != 0 ? v / sum : v);
  }
  return taps;
}

DType wide_type(DType dtype) {
  return dtype == DType::f64 || dtype == DType::s32 || dtype == DType::s64 ? DType::f64
                                                                           : DType::f32;
}

template <size_t N>
void check_name(const ir::Node& node, std::string_view what, const std::string& value,
                const std::array<std::string_view, N>& known) {
  if (std::find(known.begin(), known.end(), value) == known.end())
    fail(ErrorCode::invalid_argument, "{}: {} '{}' is unknown", node.describe(), what, value);
}

}  // namespace

void check_resize(const ir::Node& node, const ResizeSpec& spec) {
  check_name<3>(node, "mode", spec.mode, {"nearest", "linear", "cubic"});
  check_name<7>(node, "coordinate_transformation_mode", spec.coordinates,
                {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                 "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  check_name<5>(node, "nearest_mode", spec.nearest,
                {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"});
}

ResizeSpec resize_attributes(const ir::Node& node, int64_t opset) {
  ResizeSpec spec;
  spec.mode = node.string_attr("mode", "nearest");
  check_value_since(node, opset, "mode", spec.mode, {"cubic"}, 11);
  if (opset < 11) {
    if (spec.mode == "bilinear") spec.mode = "linear";
    spec.coordinates = "asymmetric";
    spec.nearest = "simple";
  } else {
    spec.coordinates = node.string_attr("coordinate_transformation_mode", "half_pixel");
    check_value_since(node, opset, "coordinate_transformation_mode", spec.coordinates,
                      {"half_pixel_symmetric"}, 19);
    spec.nearest = node.string_attr("nearest_mode", "round_prefer_floor");
    // ONNX does not define `simple`; only poprt.Resize accepts it.
    if (spec.nearest == "simple" && node.domain != "poprt")
      fail(ErrorCode::invalid_argument, "{}: nearest_mode 'simple' is unknown", node.describe());
    spec.cubic_a = node.float_attr("cubic_coeff_a", -0.75f);
    spec.exclude_outside = node.int_attr("exclude_outside", 0) != 0;
    spec.extrapolation = node.float_attr("extrapolation_value", 0);
    spec.antialias = node.int_attr("antialias", 0) != 0;
  }
  check_resize(node, spec);
  return spec;
}

int64_t resized(const ir::Node& node, int64_t in, float scale) {
  if (!(scale > 0) || !std::isfinite(scale))
    fail(ErrorCode::invalid_argument, "{}: scale {} is not a positive number", node.describe(),
         scale);
  // The product is computed in f32, like in the shape inference of ONNX and in ONNX Runtime. A
  // scale of 20 / 12 that was rounded to f32 then resizes 12 to 20, while the exact product is
  // slightly smaller.
  const float out = std::floor(static_cast<float>(in) * scale);
  if (out > 1e9f)
    fail(ErrorCode::invalid_argument, "{}: {} times {} is too large", node.describe(), in, scale);
  return static_cast<int64_t>(out);
}

void lower_resize(LowerContext& ctx, const ResizeSpec& spec) {
  const Shape &in = ctx.in_shape(0), &out = ctx.out_shape();
  const DType dtype = ctx.in_dtype(0);
  if (element_count(out) == 0) return;
  if (element_count(in) == 0) ctx.fail_unsupported("an empty input cannot be resized");
  std::vector<ResizeAxis> changing;
  for (const ResizeAxis& a : spec.axes)
    if (a.in != a.out || a.scale != 1 || a.roi_start != 0 || a.roi_end != 1) changing.push_back(a);
  if (changing.empty()) {
    ctx.emit(calls::Copy{}, {ctx.in(0), ctx.out(0)});
    return;
  }
  if (spec.mode == "nearest") {
    std::vector<std::vector<int64_t>> maps(in.size());
    bool fills = false;
    for (const ResizeAxis& a : changing) {
      maps[a.axis] = nearest_map(spec, a);
      fills |= std::count(maps[a.axis].begin(), maps[a.axis].end(), -1) > 0;
    }
    program::BufferId value = LowerContext::kNone;
    if (fills && spec.extrapolation != 0)
      value = ctx.pack(scalar_tensor(dtype, static_cast<double>(spec.extrapolation)));
    emit_map_axes(ctx, ctx.in(0), value, ctx.out(0), dtype, in, maps);
    return;
  }
  // Shrinking axes come first, which keeps intermediate results small.
  std::vector<ResizeAxis> ordered;
  for (const bool shrinking : {true, false})
    for (const ResizeAxis& a : changing)
      if ((a.out < a.in) == shrinking) ordered.push_back(a);
  Shape shape = in;
  program::BufferId from = ctx.in(0);
  for (size_t k = 0; k < ordered.size(); k++) {
    const ResizeAxis& a = ordered[k];
    const bool exact = dtype == DType::f64;
    const Taps taps = exact ? taps_of<double>(spec, a) : taps_of<float>(spec, a);
    Shape next = shape;
    next[a.axis] = a.out;
    const bool last = k + 1 == ordered.size();
    const program::BufferId to = last ? ctx.out(0) : ctx.temporary(wide_type(dtype), next);
    calls::Resample call{.outer = partial_product(shape, 0, a.axis),
                         .in = a.in,
                         .inner = partial_product(shape, a.axis + 1, shape.size()),
                         .out = a.out,
                         .taps = taps.count,
                         .index = taps.index,
                         .weights = {},
                         .outside = spec.extrapolation};
    for (const double w : taps.weight) call.weights.push_back(static_cast<float>(w));
    std::vector<program::BufferId> operands = {from};
    if (exact)
      operands.push_back(ctx.pack(Tensor::of<double>({static_cast<int64_t>(taps.weight.size())},
                                                     std::span<const double>(taps.weight))));
    operands.push_back(to);
    ctx.emit(std::move(call), operands);
    from = to;
    shape = std::move(next);
  }
}

// Axes that keep their size and scale are carried, unless the mode shifts coordinates.
void axes_of_resize(AxesContext& ctx, const ResizeSpec& spec) {
  const bool moves =
      spec.coordinates == "tf_crop_and_resize" || spec.coordinates == "tf_half_pixel_for_nn";
  std::vector<size_t> mixed;
  for (const ResizeAxis& a : spec.axes)
    if (a.in != a.out || a.scale != 1 || moves) mixed.push_back(a.axis);
  axes::same(ctx, 0, 0, mixed);
}

}  // namespace poprt::ops

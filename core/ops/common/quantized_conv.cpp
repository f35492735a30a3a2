#include "ops/common/quantized_conv.h"

#include <algorithm>
#include <cmath>

#include "ops/common/window.h"

namespace poprt::ops {
namespace {

constexpr size_t kBias = 8, kResidual = 9;

bool is_constant(const ir::Value* v, DType dtype, int64_t count) {
  return v && v->is_constant() && v->dtype() == dtype && v->constant().count() == count;
}

// Whether the scale is constant, positive, and has one element or `count` elements.
bool is_scale(const ir::Value* v, int64_t count) {
  if (!is_constant(v, DType::f32, 1) && !is_constant(v, DType::f32, count)) return false;
  const auto values = v->constant().values<float>();
  return std::all_of(values.begin(), values.end(),
                     [](float s) { return s > 0 && std::isfinite(s); });
}

// Whether the zero points make the weights symmetric as signed bytes.
bool is_symmetric(const ir::Value* v, DType dtype, int64_t count) {
  if (!is_constant(v, dtype, 1) && !is_constant(v, dtype, count)) return false;
  const auto values = v->constant().to_int64s();
  const int64_t middle = dtype == DType::u8 ? 128 : 0;
  return std::all_of(values.begin(), values.end(), [=](int64_t z) { return z == middle; });
}

bool residual_fits(const ir::Node& n) {
  const ir::Value* r = n.input(kResidual);
  if (!r) return true;
  return is_byte(r->dtype()) && is_scale(n.input(kResidual + 1), 1) &&
         is_constant(n.input(kResidual + 2), r->dtype(), 1) &&
         is_scale(n.input(kResidual + 3), 1) && n.input(kResidual + 4) &&
         is_byte(n.input(kResidual + 4)->dtype()) &&
         is_constant(n.input(kResidual + 4), n.input(kResidual + 4)->dtype(), 1);
}

}  // namespace

bool channels_last_conv_fits(const ir::Node& n, bool last) {
  const ir::Value *x = n.input(0), *w = n.input(3);
  if (!x || !w || !x->type.is_static() || !w->is_constant() || !is_byte(x->dtype()) ||
      !is_byte(w->dtype()))
    return false;
  const Shape &xs = x->shape(), &ws = w->shape();
  if (xs.size() < 3 || xs.size() > 5 || ws.size() != xs.size() || element_count(ws) == 0)
    return false;
  const int64_t m = ws[0], channels = last ? xs.back() : xs[1], group = n.int_attr("group", 1);
  const bool depthwise = ws[1] == 1 && m == channels && group == channels && group % 16 == 0;
  if (!depthwise && (group != 1 || ws[1] != channels)) return false;
  const ir::Value *y_zero = n.input(7), *bias = n.input(kBias);
  if (!is_scale(n.input(1), 1) || !is_constant(n.input(2), x->dtype(), 1) ||
      !is_scale(n.input(4), m) || !is_symmetric(n.input(5), w->dtype(), m) ||
      !is_scale(n.input(6), 1) || !y_zero || !is_byte(y_zero->dtype()) ||
      !is_constant(y_zero, y_zero->dtype(), 1) || (bias && !is_constant(bias, DType::s32, m)))
    return false;
  const size_t first = last ? 1 : 2, rank = xs.size() - 2;
  const std::vector<int64_t> spatial(xs.begin() + static_cast<std::ptrdiff_t>(first),
                                     xs.begin() + static_cast<std::ptrdiff_t>(first + rank));
  const Window window = window_of(n, spatial, {ws.begin() + 2, ws.end()});
  return std::all_of(window.pads_begin.begin(), window.pads_begin.end(),
                     [](int64_t p) { return p >= 0; }) &&
         residual_fits(n);
}

}  // namespace poprt::ops

// Inputs: input [..., parts], dft_length?, axis?. The axis is an input from opset 20 on (default
// -2) and an attribute before (default 1). `onesided` keeps length / 2 + 1 results; together with
// `inverse`, the input has that many values and the result is real.
#include "kernels/calls/dft.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/common/reduce.h"
#include "ops/common/signal.h"

namespace poprt::ops::dft_op {
namespace {

struct Transform {
  size_t axis;
  int64_t length, kept, y_parts;
  bool inverse, half;
};

std::optional<Transform> transform_of(const ir::Node& node) {
  const Shape& x = node.input(0)->shape();
  const auto rank = static_cast<int64_t>(x.size());
  const auto bad = [&](std::string_view what) {
    fail(ErrorCode::invalid_argument, "{}: input {}: {}", node.describe(), shape_string(x), what);
  };
  if (rank < 2 || (x.back() != 1 && x.back() != 2))
    bad("expected at least two dimensions, the last one of 1 or 2");
  int64_t axis = node.opset() < 20 ? node.int_attr("axis", 1) : -2;
  if (node.opset() >= 20 && node.input(2)) {
    const auto given = constant_integer(node, 2);
    if (!given) return std::nullopt;
    axis = *given;
  }
  Transform t{};
  t.axis = static_cast<size_t>(normalize_axis(axis, rank));
  if (t.axis + 1 == x.size()) bad("the axis must not be the last one");
  t.inverse = node.int_attr("inverse", 0) != 0;
  const bool onesided = node.int_attr("onesided", 0) != 0;
  t.half = onesided && t.inverse;
  t.length = t.half ? 2 * (x[t.axis] - 1) : x[t.axis];
  if (node.input(1)) {
    const auto given = constant_integer(node, 1);
    if (!given) return std::nullopt;
    t.length = *given;
  }
  if (t.length < 1 || t.length > (int64_t{1} << 26)) bad("dft_length is out of range");
  t.kept = onesided && !t.inverse ? t.length / 2 + 1 : t.length;
  t.y_parts = t.half ? 1 : 2;
  return t;
}

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (!x.is_static()) return ctx.out_dtype(0, x.dtype);
  const auto t = transform_of(ctx.node);
  if (!t) return ctx.out_dtype(0, x.dtype);
  Shape y = x.shape;
  y[t->axis] = t->kept;
  y.back() = t->y_parts;
  ctx.out(0, x.dtype, std::move(y));
}

void lower(LowerContext& ctx) {
  const auto t = transform_of(ctx.node);
  if (!t) ctx.fail_unsupported("dft_length and axis must be constant");
  const Shape& x = ctx.in_shape(0);
  const AxisSplit s = split_at(x, static_cast<int64_t>(t->axis));
  const bool wide = ctx.in_dtype(0) == DType::f64;
  const auto y = wide ? ctx.out(0) : out_as_f32(ctx, 0);
  ctx.emit(calls::Dft{.outer = s.outer,
                      .n = s.n,
                      .inner = s.inner / x.back(),
                      .parts = x.back(),
                      .frames = 1,
                      .step = 0,
                      .length = t->length,
                      .kept = t->kept,
                      .inverse = t->inverse,
                      .y_parts = t->y_parts,
                      .half = t->half},
           {wide ? ctx.in(0) : in_as_f32(ctx, 0), LowerContext::kNone, y});
  if (!wide) finish_f32(ctx, 0, y);
}

void map_axes(AxesContext& ctx) {
  const auto t = transform_of(ctx.node);
  if (!t) return;
  const size_t mixed[] = {t->axis, ctx.in(0).size() - 1};
  axes::same(ctx, 0, 0, mixed);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "DFT",
                   .since = 17,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::dft,
                   .facts = {.constant_inputs = 0b110, .trial = {"T[1,4,2]"}}};

}  // namespace poprt::ops::dft_op

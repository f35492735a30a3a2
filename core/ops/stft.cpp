// Inputs: signal [batch, length, parts], frame_step, window?, frame_length?. The output is [batch,
// frames, bins, 2].
#include "kernels/calls/dft.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/common/signal.h"

namespace poprt::ops::stft_op {
namespace {

struct Frames {
  int64_t step, length, count, bins;
};

std::optional<Frames> frames_of(const ir::Node& node) {
  const Shape& x = node.input(0)->shape();
  const auto bad = [&](std::string_view what) {
    fail(ErrorCode::invalid_argument, "{}: signal {}: {}", node.describe(), shape_string(x), what);
  };
  if (x.size() < 2 || x.size() > 3 || (x.size() == 3 && x[2] != 1 && x[2] != 2))
    bad("expected [batch, length, 1 or 2]");
  const auto step = constant_integer(node, 1);
  if (!step) return std::nullopt;
  Frames f{*step, 0, 0, 0};
  const ir::Value* window = node.input(2);
  if (window && window->shape().size() != 1) bad("the window must have one dimension");
  if (node.input(3)) {
    const auto length = constant_integer(node, 3);
    if (!length) return std::nullopt;
    f.length = *length;
  } else if (window) {
    f.length = window->shape()[0];
  }
  if (window && window->shape()[0] != f.length) bad("the window is not frame_length long");
  if (f.length < 1 || f.length > x[1] || f.length > (int64_t{1} << 26) || f.step < 1)
    bad("frame_length or frame_step is out of range");
  f.count = (x[1] - f.length) / f.step + 1;
  f.bins = node.int_attr("onesided", 1) ? f.length / 2 + 1 : f.length;
  return f;
}

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (!x.is_static() || (ctx.has(2) && !ctx.in(2).is_static())) return ctx.out_dtype(0, x.dtype);
  const auto f = frames_of(ctx.node);
  if (!f) return ctx.out_dtype(0, x.dtype);
  ctx.out(0, x.dtype, {x.shape[0], f->count, f->bins, 2});
}

void lower(LowerContext& ctx) {
  const auto f = frames_of(ctx.node);
  if (!f) ctx.fail_unsupported("frame_step and frame_length must be constant");
  const Shape& x = ctx.in_shape(0);
  const bool wide = ctx.in_dtype(0) == DType::f64;
  const auto y = wide ? ctx.out(0) : out_as_f32(ctx, 0);
  const auto window = !ctx.has(2) ? LowerContext::kNone : wide ? ctx.in(2) : in_as_f32(ctx, 2);
  ctx.emit(calls::Dft{.outer = x[0],
                      .n = x[1],
                      .inner = 1,
                      .parts = x.size() == 3 ? x[2] : 1,
                      .frames = f->count,
                      .step = f->step,
                      .length = f->length,
                      .kept = f->bins,
                      .inverse = false,
                      .y_parts = 2,
                      .half = false},
           {wide ? ctx.in(0) : in_as_f32(ctx, 0), window, y});
  if (!wide) finish_f32(ctx, 0, y);
}

// ONNX's shape inference treats an absent `onesided` as 0, although its default is 1. Models that
// went through it declare all frequencies instead of one half for this node and for all values
// computed from it.
bool misjudged_by_onnx(const ir::Node& node) { return node.find_attr("onesided") == nullptr; }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "STFT",
                   .since = 17,
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::batch,
                   .cost = cost::stft,
                   .facts = {.constant_inputs = 0b1010,
                             .misjudged_by_onnx = misjudged_by_onnx,
                             .trial = {"T[1,8]; s64[] = 2; _; s64[] = 4"}}};

}  // namespace poprt::ops::stft_op

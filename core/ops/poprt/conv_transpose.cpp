// poprt.ConvTranspose: in channel blocks. A kernel that is equal to the stride, without padding,
// has one tap for each output, also in three dimensions: attribute `depth` is the number of slices
// of the input, whose rows follow each other. Other forms are computed as phases
// (kernels/common/transposed_phases.h); they have attribute output_shape.
#include "kernels/calls/conv_transpose.h"
#include "base/checked.h"
#include "kernels/calls/conv_transpose_phases.h"
#include "kernels/common/pack_conv.h"
#include "kernels/common/transposed_phases.h"
#include "ops/common/axes.h"
#include "ops/common/flops.h"
#include "ops/common/fused_activation.h"
#include "ops/common/packed_bias.h"
#include "ops/op.h"

namespace poprt::ops::poprt_conv_transpose_op {
namespace {

constexpr std::string_view kOutputShape = "output_shape";

bool has_phases(const ir::Node& node) { return node.find_attr(kOutputShape) != nullptr; }

// The attributes of a form with phases. A file may contain any lists.
struct PhaseWindow {
  std::vector<int64_t> strides, dilations, pads;
};

PhaseWindow phase_window_of(const ir::Node& node) {
  PhaseWindow w{node.ints_attr("strides", {1, 1}), node.ints_attr("dilations", {1, 1}),
                node.ints_attr("pads", {0, 0, 0, 0})};
  constexpr int64_t kMost = INT64_C(1) << 31;
  const auto in = [](std::span<const int64_t> list, int64_t least, int64_t most) {
    return std::ranges::all_of(list, [=](int64_t v) { return v >= least && v <= most; });
  };
  // The pads at the end follow from the shape of the result.
  if (w.strides.size() != 2 || w.dilations.size() != 2 || w.pads.size() != 4 ||
      !in(w.strides, 1, kernels::kMostPhases) || !in(w.dilations, 1, kMost) ||
      !in(std::span(w.pads).first(2), 0, kMost))
    fail(ErrorCode::invalid_argument, "{}: strides, dilations or pads are out of range",
         node.describe());
  return w;
}

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &w = ctx.in(1);
  const bool deep = w.shape.size() == 5;
  if (!w.is_static() || (w.shape.size() != 4 && !deep) || (deep && has_phases(ctx.node)))
    ctx.fail_input("weights must have four static dimensions, or five without phases");
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  const int64_t group = ctx.node.int_attr("group", 1);
  if (x.shape.size() != 5 || x.shape[1] != (w.shape[0] + 15) / 16 || group < 1 ||
      ctx.node.int_attr("channels", w.shape[0]) != w.shape[0])
    ctx.fail_input("input {} does not fit weights {}", shape_string(x.shape),
                   shape_string(w.shape));
  const int64_t channels = checked_mul(w.shape[1], group);
  if (ctx.has(2) && ctx.in(2).is_static() && ctx.in(2).shape != Shape{channels})
    ctx.fail_input("bias {} does not fit weights {}", shape_string(ctx.in(2).shape),
                   shape_string(w.shape));
  if (has_phases(ctx.node)) {
    const auto out = ctx.node.ints_attr(kOutputShape);
    if (out.size() != 2 || (group > 1 && (w.shape[0] / group % 16 || w.shape[1] % 16)))
      ctx.fail_unsupported("groups require multiples of 16 channels, and outputs two dimensions");
    if (out[0] < 0 || out[1] < 0) ctx.fail_input("output_shape is {}", shape_string(out));
    phase_window_of(ctx.node);
    return ctx.out(0, x.dtype, {x.shape[0], (channels + 15) / 16, out[0], out[1], 16});
  }
  if (ctx.node.ints_attr("strides", {1, 1}) !=
          std::vector<int64_t>(w.shape.begin() + 2, w.shape.end()) ||
      group != 1)
    ctx.fail_unsupported("kernel {} must equal the strides, in one group", shape_string(w.shape));
  const auto times = [](int64_t a, int64_t b) { return a < 0 ? kUnknownDim : checked_mul(a, b); };
  ctx.out(0, x.dtype,
          {x.shape[0], (w.shape[1] + 15) / 16,
           times(x.shape[2], checked_mul(deep ? w.shape[3] : 1, w.shape[2])),
           times(x.shape[3], w.shape.back()), 16});
}

kernels::ConvWeights weights_of(const Tensor& t, int64_t groups = 1) {
  const Shape& shape = t.shape();
  const int64_t rows = shape.size() == 5 ? checked_mul(shape[2], shape[3]) : shape[2];
  return {t.values<float>(), groups, shape[1], shape[0] / groups, rows, shape.back()};
}

// Packs the weights for conv_transpose_phases.
struct PhaseWeights {
  int64_t groups;
  kernels::TransposedAxis h, v;
  bool merged;
  bool operator==(const PhaseWeights&) const = default;

  int64_t floats(const kernels::ConvWeights& w) const {
    if (!merged) return kernels::transposed_floats(w, h, v);
    const int64_t blocks = ceil_div(h.stride * v.stride * w.m, int64_t{16});
    return checked_mul(blocks * kernels::merged_phase(h).taps * kernels::merged_phase(v).taps,
                       w.c * 16);
  }
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    const kernels::ConvWeights w = weights_of(from[0], groups);
    if (merged)
      kernels::pack_merged_phases(w, h, v, program::as_array<float>(to));
    else
      kernels::pack_transposed_phases(w, h, v, program::as_array<float>(to));
  }
};

// Whether one convolution of all phases multiplies fewer blocks of 16 channels than one for each
// phase.
bool merging_pays(const kernels::ConvWeights& w, const kernels::TransposedAxis& h,
                  const kernels::TransposedAxis& v) {
  constexpr int64_t kMostMerged = 64;  // phases
  if (w.groups != 1 || w.m >= 16 || h.dilation != 1 || v.dilation != 1 ||
      checked_mul(h.stride, v.stride) > kMostMerged)
    return false;
  const auto taps = [](const kernels::TransposedAxis& a) { return kernels::merged_phase(a).taps; };
  return ceil_div(h.stride * v.stride * w.m, int64_t{16}) * taps(h) * taps(v) < w.kh * w.kw;
}

void lower_phases(LowerContext& ctx, const Tensor& weights) {
  const Shape &x = ctx.in_shape(0), &y = ctx.out_shape();
  const int64_t groups = ctx.node.int_attr("group", 1);
  const kernels::ConvWeights w = weights_of(weights, groups);
  const auto [strides, dilations, pads] = phase_window_of(ctx.node);
  PhaseWeights form{groups,
                    {x[2], y[2], w.kh, strides[0], dilations[0], pads[0]},
                    {x[3], y[3], w.kw, strides[1], dilations[1], pads[1]},
                    false};
  form.merged = merging_pays(w, form.h, form.v);
  const auto packed = ctx.pack(DType::f32, {form.floats(w)}, {{weights}, form});
  auto bias = LowerContext::kNone;
  if (const Tensor* b = ctx.constant(2)) {
    if (form.merged) {
      const int64_t lanes = strides[0] * strides[1] * w.m;
      std::vector<double> all, one = b->to_doubles();
      while (static_cast<int64_t>(all.size()) < lanes)
        all.insert(all.end(), one.begin(), one.end());
      Tensor repeated = Tensor::zeros(DType::f32, {lanes});
      std::ranges::copy(all, repeated.mutable_values<float>().begin());
      bias = pack_bias(ctx, repeated, lanes, ceil_div(lanes, int64_t{16}) * 16);
    } else {
      bias = pack_bias(ctx, *b, b->count(), y[1] * 16);
    }
  }
  ctx.emit(calls::ConvTransposePhases{.conv = {.batch = x[0],
                                               .groups = groups,
                                               .c = w.c,
                                               .m = w.m,
                                               .h = x[2],
                                               .w = x[3],
                                               .oh = y[2],
                                               .ow = y[3],
                                               .kh = w.kh,
                                               .kw = w.kw,
                                               .stride_h = strides[0],
                                               .stride_w = strides[1],
                                               .pad_h = pads[0],
                                               .pad_w = pads[1],
                                               .dilation_h = dilations[0],
                                               .dilation_w = dilations[1],
                                               .epilogue = epilogue_of(fused_activation(ctx.node))},
                                      .merged = form.merged},
           {ctx.in(0), packed, bias, LowerContext::kNone, ctx.out(0)});
}

void lower(LowerContext& ctx) {
  const Tensor* weights = ctx.constant(1);
  if (!weights || weights->dtype() != DType::f32 || ctx.in_dtype(0) != DType::f32 ||
      (ctx.has(2) && !ctx.constant(2)))
    ctx.fail_unsupported("weights and bias must be constant and all types f32");
  if (has_phases(ctx.node)) return lower_phases(ctx, *weights);
  const Shape &x = ctx.in_shape(0), &y = ctx.out_shape();
  const kernels::ConvWeights w = weights_of(*weights);
  const int64_t count = checked_mul(checked_mul(w.taps(), w.blocks()), w.c * 16);
  const auto packed =
      ctx.pack(DType::f32, {count},
               {{*weights}, [](program::WeightForm::Sources from, program::WeightForm::Bytes to) {
                  kernels::pack_conv_transpose(weights_of(from[0]), program::as_array<float>(to));
                }});
  auto bias = LowerContext::kNone;
  if (const Tensor* b = ctx.constant(2)) bias = pack_bias(ctx, *b, b->count(), y[1] * 16);
  const FusedActivation a = fused_activation(ctx.node);
  const bool deep = weights->shape().size() == 5;
  const int64_t kd = deep ? weights->shape()[2] : 1, kh = w.kh / kd,
                slices = deep ? ctx.node.int_attr("depth", 1) : 1;
  if (slices < 1 || x[2] % slices)
    ctx.fail_unsupported("{} rows are not a multiple of {} slices", x[2], slices);
  std::optional<calls::ConvDepth> depth;
  if (deep) depth = {.d = slices, .od = slices * kd, .kd = kd, .stride_d = kd};
  ctx.emit(calls::ConvTranspose{.conv = {.batch = x[0],
                                         .groups = 1,
                                         .c = w.c,
                                         .m = w.m,
                                         .h = x[2] / slices,
                                         .w = x[3],
                                         .oh = x[2] / slices * kh,
                                         .ow = y[3],
                                         .kh = kh,
                                         .kw = w.kw,
                                         .stride_h = kh,
                                         .stride_w = w.kw,
                                         .epilogue = epilogue_of(a)},
                                .depth = depth},
           {ctx.in(0), packed, bias, LowerContext::kNone, ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  ctx.carry(0, 0, 0, 0);
  if (ctx.node.int_attr("group", 1) != 1) return;
  axes::into_blocks(ctx, 1, 1);
  if (ctx.has(2)) axes::into_blocks(ctx, 2, 0);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "ConvTranspose",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.flops = flops::conv_transpose,
                             .trial = {"T[1,1,4,4,16]; T[16,16,2,2]", "strides = [2, 2]"}}};

}  // namespace poprt::ops::poprt_conv_transpose_op

// poprt.Conv: convolution into channel blocks, with bias, residual and activation in the kernel.
#include <array>

#include "base/checked.h"
#include "kernels/common/pack_conv.h"
#include "ops/common/conv.h"
#include "ops/common/fused_activation.h"
#include "ops/common/packed_bias.h"
#include "ops/op.h"

namespace poprt::ops {
namespace {

int64_t blocks(int64_t channels) { return (channels + 15) / 16; }

// x is [N,C,H,W] for fewer than 16 channels, [N,CB,H,W,16] otherwise.
Window window(const ir::Node& node, const Shape& x, const Shape& w) {
  return window_of(node, {x[2], x[3]}, {w[2], w[3]});
}

kernels::ConvWeights weights_of(const Tensor& t, int64_t groups) {
  const Shape& shape = t.shape();
  return {t.values<float>(), groups, shape[0] / groups, shape[1], shape[2], shape[3]};
}

struct PackedConv {
  using Fill = void (*)(const kernels::ConvWeights&, int64_t tile, std::span<float>);
  Fill fill;
  int64_t groups, tile;
  bool operator==(const PackedConv&) const = default;
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    fill(weights_of(from[0], groups), tile, program::as_array<float>(to));
  }
};

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &w = ctx.in(1);
  if (!w.is_static() || w.shape.size() != 4)
    ctx.fail_input("weights must have four static dimensions");
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  const int64_t channels = ctx.node.int_attr("channels", 0), group = ctx.node.int_attr("group", 1);
  const bool plain = x.shape.size() == 4;
  if (!plain && x.shape.size() != 5)
    ctx.fail_input("input {} is neither plain nor blocked", shape_string(x.shape));
  if (group < 1 || channels < 1 || w.shape[1] * group != channels || w.shape[0] % group ||
      x.shape[1] != (plain ? channels : blocks(channels)))
    ctx.fail_input("input {} with {} channels in {} groups does not fit weights {}",
                   shape_string(x.shape), channels, group, shape_string(w.shape));
  const Window win = window(ctx.node, x.shape, w.shape);
  ctx.out(0, x.dtype,
          {x.shape[0], blocks(w.shape[0]), win.out(0, x.shape[2]), win.out(1, x.shape[3]), 16});
}

void lower(LowerContext& ctx) {
  const Tensor* weights = ctx.constant(1);
  if (!weights || weights->dtype() != DType::f32 || ctx.in_dtype(0) != DType::f32 ||
      (ctx.has(2) && !ctx.constant(2)))
    ctx.fail_unsupported("weights and bias must be constant and everything f32");
  const Shape &x = ctx.in_shape(0), &y = ctx.out_shape();
  const int64_t channels = ctx.node.int_attr("channels", 0), group = ctx.node.int_attr("group", 1);
  const kernels::ConvWeights w = weights_of(*weights, group);
  const Window win = window(ctx.node, x, weights->shape());
  if (win.pads_begin[0] < 0 || win.pads_begin[1] < 0) ctx.fail_unsupported("negative pads");
  const FusedActivation activation = fused_activation(ctx.node);

  const bool depthwise = group > 1 && w.c == 1 && w.m == 1;
  std::vector<int64_t> ints = {x[0],
                               group,
                               w.c,
                               w.m,
                               x[2],
                               x[3],
                               y[2],
                               y[3],
                               w.kh,
                               w.kw,
                               win.strides[0],
                               win.strides[1],
                               win.pads_begin[0],
                               win.pads_begin[1],
                               win.dilations[0],
                               win.dilations[1],
                               activation.kind,
                               ctx.node.int_attr("residual_after_activation", 0)};
  std::string_view kernel = "conv";
  int64_t count = checked_mul(checked_mul(w.groups * w.blocks(), w.c * w.taps()), int64_t{16}),
          tile = 0;
  PackedConv::Fill fill = [](const kernels::ConvWeights& v, int64_t, std::span<float> to) {
    kernels::pack_conv(v, to);
  };
  if (x.size() == 4) {
    if (group != 1) ctx.fail_unsupported("plain input with groups");
    kernel = "conv_stem";
    fill = [](const kernels::ConvWeights& v, int64_t, std::span<float> to) {
      kernels::pack_conv_stem(v, to);
    };
  } else if (depthwise) {
    kernel = "conv_depthwise";
    ints[1] = blocks(channels);
    ints[2] = ints[3] = 16;
    count = blocks(channels) * 16 * w.taps();
    fill = [](const kernels::ConvWeights& v, int64_t, std::span<float> to) {
      kernels::pack_conv_depthwise(v, to);
    };
  } else if (group > 1 && (w.c % 16 || w.m % 16)) {
    ctx.fail_unsupported("groups of {} to {} channels are no multiples of 16", w.c, w.m);
  } else if (group == 1 && w.kh == 3 && w.kw == 3 && win.strides == std::vector<int64_t>{1, 1} &&
             win.dilations == std::vector<int64_t>{1, 1}) {
    const ConvAlgorithm algorithm = conv_algorithm(
        x[0], w.c, w.m, y[2], y[3], ctx.node.int_attr(kWinogradAttribute, kLargestWinogradTile));
    tile = ctx.node.int_attr("winograd_tile", algorithm == ConvAlgorithm::winograd4   ? 4
                                              : algorithm == ConvAlgorithm::winograd2 ? 2
                                                                                      : 0);
    if (tile) {
      kernel = "conv_winograd";
      ints.push_back(tile);
      count = checked_mul(w.blocks() * 16 * w.c, (tile + 2) * (tile + 2));
      fill = kernels::pack_conv_winograd;
    }
  }
  const auto packed = ctx.pack(DType::f32, {count}, {{*weights}, PackedConv{fill, group, tile}});
  auto bias = LowerContext::kNone;
  if (const Tensor* b = ctx.constant(2)) bias = pack_bias(ctx, *b, b->count(), y[1] * 16);
  const std::array<program::BufferId, 5> operands = {
      ctx.in(0), packed, bias, ctx.has(3) ? ctx.in(3) : LowerContext::kNone, ctx.out(0)};
  ctx.emit(kernel, operands, ints, std::array<float, 2>{activation.a, activation.b});
}

}  // namespace

extern const OpDef blocked_conv_op;
const OpDef blocked_conv_op = {.name = "Conv", .domain = "poprt", .infer = infer, .lower = lower};

}  // namespace poprt::ops

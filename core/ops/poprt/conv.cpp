// poprt.Conv: convolution into channel blocks, with bias, residual and activation in the kernel.
// With inputs 4, [1 or N,CB,1,1,16], and 5, [1,CB,1,1,16], the convolution reads x * input 4 +
// input 5 and, with `prologue_relu`, applies Relu to it first.
//
// x is [N,CB,H,W,16] or, for fewer than 16 channels in one group, plain [N,C,H,W]. If x is plain
// and there is no residual, `plain_result` makes y [N,M,OH,OW].
//
// With `pair`, each of the `group` groups is a pair of groups (conv_kernel.h).
//
// With `products` = "bf16", the kernel may round x and the weights to bf16 (f32 by default). If the
// kernel supports it (ConvKernel::reads_bf16(), writes_bf16()), x and the residual may be bf16, and
// y is bf16 with `result_type` = "bf16".
//
// Values with three spatial dimensions store their slices one after the other, [N,CB,D*H,W,16]. The
// attribute `depth` is the number of slices of x; the attributes of the window then have three
// entries.
#include <limits>

#include "base/checked.h"
#include "kernels/calls/matmul_dynamic.h"
#include "kernels/calls/pack_conv.h"
#include "ops/common/axes.h"
#include "ops/common/conv_kernel.h"
#include "ops/common/flops.h"
#include "ops/common/fused_activation.h"
#include "ops/common/movement.h"
#include "ops/common/packed_bias.h"
#include "ops/op.h"

namespace poprt::ops::poprt_conv_op {
namespace {

int64_t blocks(int64_t channels) { return (channels + 15) / 16; }

// Writes the weights of a convolution in the layout of its kernel.
struct PackedConv {
  int64_t groups, m, c, kh, kw, tile;
  bool bf16, stem;
  int64_t single_c, single_m;
  bool operator==(const PackedConv&) const = default;
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    ConvKernel kernel;
    kernel.weights = {{}, groups, m, c, kh, kw};
    kernel.winograd_tile = tile;
    kernel.single_c = single_c;
    kernel.single_m = single_m;
    if (bf16) kernel.call = calls::ConvBf16{};
    if (stem) kernel.call = calls::ConvStemBf16{};
    kernel.pack(from[0].values<float>(), to);
  }
};

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &w = ctx.in(1);
  if (!w.is_static() || (w.shape.size() != 4 && w.shape.size() != 5))
    ctx.fail_input("weights must have four or five static dimensions");
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  const int64_t channels = ctx.node.int_attr("channels", 0), group = ctx.node.int_attr("group", 1);
  const bool plain = x.shape.size() == 4;
  if (!plain && x.shape.size() != 5)
    ctx.fail_input("input {} has neither the plain nor the blocked layout", shape_string(x.shape));
  // Pairs of groups may be followed by a single group.
  const std::vector<int64_t> pair = ctx.node.ints_attr(kPairAttribute);
  const bool single = pair.size() == 2 && channels == w.shape[1] * group + pair[0];
  const int64_t filters = w.shape[0] - (single ? pair[1] : 0);
  if (group < 1 || channels < 1 || (!single && w.shape[1] * group != channels) || filters < 0 ||
      filters % group || x.shape[1] != (plain ? channels : blocks(channels)))
    ctx.fail_input("input {} with {} channels in {} groups does not fit weights {}",
                   shape_string(x.shape), channels, group, shape_string(w.shape));
  if (ctx.has(2) && ctx.in(2).is_static() && ctx.in(2).shape != Shape{w.shape[0]})
    ctx.fail_input("bias {} does not fit weights {}", shape_string(ctx.in(2).shape),
                   shape_string(w.shape));
  if (ctx.has(4) && ctx.in(4).is_static()) {
    const Shape& s = ctx.in(4).shape;
    if (plain || s.size() != 5 || (s[0] != 1 && s[0] != x.shape[0]) || s[1] != x.shape[1] ||
        s[2] != 1 || s[3] != 1 || s[4] != 16)
      ctx.fail_input("scale {} does not fit input {}", shape_string(s), shape_string(x.shape));
  }
  const ConvProblem p = conv_problem(ctx.node);
  const auto& axes = p.axes;
  const int64_t rows = axes[1].out < 0 ? kUnknownDim : axes[0].out * axes[1].out;
  if (p.plain_result) return ctx.out(0, x.dtype, {x.shape[0], w.shape[0], rows, axes[2].out});
  const DType y = ctx.node.string_attr("result_type", "") == "bf16" ? DType::bf16
                  : x.dtype == DType::bf16                          ? DType::f32
                                                                    : x.dtype;
  ctx.out(0, y, {x.shape[0], blocks(w.shape[0]), rows, axes[2].out, 16});
}

program::BufferId weights_of(LowerContext& ctx, const ConvKernel& kernel) {
  if (!kernel.packed) return ctx.in(1);
  const int64_t count = kernel.packed_count();
  const kernels::ConvWeights& w = kernel.weights;
  const bool bf16 = kernel.packed_type() == DType::bf16;
  if (const Tensor* weights = ctx.constant(1))
    return ctx.pack(kernel.packed_type(), {count},
                    {{*weights},
                     PackedConv{w.groups, w.m, w.c, w.kh, w.kw, kernel.winograd_tile, bf16,
                                bf16 && std::holds_alternative<calls::ConvStemBf16>(kernel.call),
                                kernel.single_c, kernel.single_m}});
  if (bf16) ctx.fail_unsupported("weights of bf16 must be constant");
  const auto packed = ctx.temporary(DType::f32, {count});
  ctx.emit(calls::PackConv{.groups = w.groups, .m = w.m, .c = w.c, .taps = w.taps()},
           {ctx.in(1), packed});
  return packed;
}

program::BufferId bias_of(LowerContext& ctx, const ConvKernel& kernel) {
  if (!ctx.has(2)) return LowerContext::kNone;
  if (!kernel.packed) return ctx.in(2);
  const int64_t padded = blocks(ctx.in_shape(1)[0]) * 16;
  if (const Tensor* b = ctx.constant(2)) return pack_bias(ctx, *b, b->count(), padded);
  const auto bias = ctx.temporary(DType::f32, {padded});
  ctx.emit(calls::PackConv{.groups = 1, .m = ctx.in_shape(2)[0], .c = 1, .taps = 1},
           {ctx.in(2), bias});
  return bias;
}

// Refuses activations of a type that the kernel does not support.
void check_types(const LowerContext& ctx, const ConvKernel& kernel) {
  const auto is_bf16 = [&](size_t i) { return ctx.has(i) && ctx.in_dtype(i) == DType::bf16; };
  const bool x = is_bf16(0), residual = is_bf16(3), y = ctx.out_dtype() == DType::bf16;
  if ((x && !kernel.reads_bf16()) || ((residual || y) && !kernel.writes_bf16()) ||
      (kernel.one_type() && (x != y || (ctx.has(3) && residual != y))))
    ctx.fail_unsupported("{} does not support these types", kernel.name());
}

// Whether windows do not overlap, as in patch embeddings, and rows of results are so short that a
// product of matrices is faster than kernel conv_plain, which computes 16 to 48 results of a row at
// a time.
bool has_short_patches(const LowerContext& ctx, const ConvProblem& p) {
  constexpr int64_t kShort = 32;
  const ConvAxis &h = p.axes[1], &w = p.axes[2];
  const auto apart = [](const ConvAxis& a) {
    return a.stride == a.kernel && a.dilation == 1 && a.pad == 0 && a.out * a.kernel <= a.in;
  };
  return p.plain && p.plain_result && !p.deep && apart(h) && apart(w) && p.taps() > 1 &&
         w.out < kShort && fused_activation(ctx.node).kind == 0 && ctx.in_dtype(0) == DType::f32;
}

// Copies the patches, [batch, oh, ow, c, kh, kw], and multiplies the filters by them.
void lower_patches(LowerContext& ctx, const ConvProblem& p) {
  const ConvAxis &h = p.axes[1], &w = p.axes[2];
  const int64_t plane = checked_mul(h.in, w.in), k = checked_mul(p.c, p.taps()),
                patches = checked_mul(h.out, w.out);
  StridedCopy copy;
  copy.dims = {p.batch, h.out, w.out, p.c, h.kernel, w.kernel};
  copy.from_strides = {checked_mul(p.c, plane), h.kernel * w.in, w.kernel, plane, w.in, 1};
  copy.to_strides = contiguous_strides(copy.dims);
  const auto rows = ctx.temporary(DType::f32, copy.dims);
  emit_strided_copy(ctx, ctx.in(0), rows, DType::f32, copy);
  const bool bias = ctx.has(2);
  ctx.emit(calls::MatmulDynamic{{.m = p.m,
                                 .n = patches,
                                 .k = k,
                                 .a_row = k,
                                 .a_k = 1,
                                 .b_k = 1,
                                 .b_n = k,
                                 .c_row = bias ? 1 : 0,
                                 .batch = {{.count = p.batch, .b = checked_mul(patches, k)}}}},
           {ctx.in(1), rows, bias ? ctx.in(2) : LowerContext::kNone, ctx.out(0)});
}

void lower(LowerContext& ctx) {
  for (const size_t i : {0, 1, 3})
    if (ctx.has(i) && ctx.in_dtype(i) != DType::f32 && (i == 1 || ctx.in_dtype(i) != DType::bf16))
      ctx.fail_unsupported("only f32 can be blocked");
  const ConvProblem p = conv_problem(ctx.node);
  if (!conv_kernel_exists(p))
    ctx.fail_unsupported("no kernel for {} groups of {} to {} channels with such pads", p.groups,
                         p.c, p.m);
  if (has_short_patches(ctx, p)) return lower_patches(ctx, p);
  ConvKernel kernel = conv_kernel_of(ctx.node);
  check_types(ctx, kernel);
  const auto epilogue = epilogue_of(fused_activation(ctx.node),
                                    ctx.node.int_attr("residual_after_activation", 0) != 0);
  std::vector<program::BufferId> operands = {ctx.in(0), weights_of(ctx, kernel),
                                             bias_of(ctx, kernel),
                                             ctx.has(3) ? ctx.in(3) : LowerContext::kNone};
  if (auto* call = std::get_if<calls::ConvNormalized>(&kernel.call)) {
    operands.insert(operands.end(), {ctx.in(4), ctx.has(5) ? ctx.in(5) : LowerContext::kNone});
    call->scale_of_image = ctx.in_shape(4)[0] > 1;
    call->low =
        ctx.node.int_attr("prologue_relu", 0) ? 0.0f : -std::numeric_limits<float>::infinity();
  }
  operands.push_back(ctx.out(0));
  std::visit(
      [&](auto& call) {
        call.conv.epilogue = epilogue;
        ctx.emit(call, operands);
      },
      kernel.call);
}

void map_axes(AxesContext& ctx) {
  ctx.carry(0, 0, 0, 0);
  ctx.carry(4, 0, 0, 0);
  for (const size_t i : {1, 2}) {
    if (!ctx.has(i)) continue;
    if (ctx.out().size() == 4)
      ctx.carry(i, 0, 0, 1);
    else
      axes::into_blocks(ctx, i, 0);
  }
  axes::same(ctx, 3, 0);
  const Shape &x = ctx.in(0), &w = ctx.in(1);
  if (w.size() == 4 && ctx.node.int_attr("depth", 0) == 0)
    axes::windows(ctx, window_of(ctx.node, {x[2], x[3]}, {w[2], w[3]}), 2, 2);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Conv",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.winograd = true,
                             .flops = flops::conv,
                             .trial = {"T[1,1,4,4,16]; T[16,16,1,1]", "channels = 16"}}};

}  // namespace poprt::ops::poprt_conv_op

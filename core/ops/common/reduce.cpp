#include "ops/common/reduce.h"

#include <numeric>

#include "base/onnx_dtype.h"
#include "kernels/calls/copy.h"
#include "kernels/calls/reduce.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/scalar.h"

namespace poprt::ops {

bool reduces_by_input(std::string_view op_type, int64_t opset) {
  return opset >= (op_type == "ReduceSum" ? 13 : 18);
}

namespace {

bool axes_are_input(const ir::Node& node) { return reduces_by_input(node.op_type, node.opset()); }

// The sorted axes; nullopt if they are unknown. `noop` is set if nothing is reduced.
std::optional<std::vector<int64_t>> reduce_axes(const ir::Node& node, bool& noop) {
  const auto rank = static_cast<int64_t>(node.input(0)->shape().size());
  std::vector<int64_t> axes;
  if (axes_are_input(node)) {
    if (const ir::Value* v = node.input(1)) {
      if (!v->is_constant()) return std::nullopt;
      axes = v->constant().to_int64s();
    }
  } else {
    axes = node.ints_attr("axes");
  }
  noop = axes.empty() && axes_are_input(node) && node.int_attr("noop_with_empty_axes", 0) != 0;
  std::vector<bool> chosen(static_cast<size_t>(rank), axes.empty() && !noop);
  for (const int64_t a : axes) chosen[static_cast<size_t>(normalize_axis(a, rank))] = true;
  std::vector<int64_t> sorted;
  for (int64_t d = 0; d < rank; d++)
    if (chosen[static_cast<size_t>(d)]) sorted.push_back(d);
  return sorted;
}

}  // namespace

AxisSplit split_at(const Shape& shape, int64_t axis) {
  AxisSplit s;
  for (size_t d = 0; d < shape.size(); d++)
    (static_cast<int64_t>(d) < axis    ? s.outer
     : static_cast<int64_t>(d) == axis ? s.n
                                       : s.inner) *= shape[d];
  return s;
}

void infer_reduce(InferContext& ctx) {
  const ir::ValueType& t = ctx.in(0);
  if (!t.has_shape) return ctx.out_dtype(0, t.dtype);
  bool noop = false;
  const auto axes = reduce_axes(ctx.node, noop);
  const bool keep = ctx.node.int_attr("keepdims", 1) != 0;
  if (!axes) {
    if (!keep) return ctx.out_dtype(0, t.dtype);
    return ctx.out(0, t.dtype, Shape(t.shape.size(), kUnknownDim));
  }
  ir::ValueType out{t.dtype, true, {}, {}};
  for (size_t d = 0, next = 0; d < t.shape.size(); d++) {
    const bool reduced = next < axes->size() && (*axes)[next] == static_cast<int64_t>(d);
    next += reduced;
    if (reduced && !keep) continue;
    out.shape.push_back(reduced ? 1 : t.shape[d]);
    if (t.symbols.size() == t.shape.size())
      out.symbols.push_back(reduced ? std::string() : t.symbols[d]);
  }
  ctx.out(0, out);
}

void lower_reduce(LowerContext& ctx, kernels::Reduction kind) {
  bool noop = false;
  const auto axes = reduce_axes(ctx.node, noop);
  if (!axes) ctx.fail_unsupported("the axes must be constant");
  const DType t = ctx.in_dtype(0);
  const bool narrow = is_float(t) && t != DType::f32 && t != DType::f64;
  const auto x = narrow ? in_as_f32(ctx, 0) : ctx.in(0);
  const auto y = narrow ? out_as_f32(ctx, 0) : ctx.out(0);
  // With `noop` nothing is reduced, but the functions before and after the sum (squares, roots) are
  // applied.
  const bool identity = kind <= kernels::Reduction::prod;
  if (noop && identity) {
    ctx.emit(calls::Copy{}, {x, y});
  } else {
    ctx.emit(calls::Reduce{.kind = kind, .axes = *axes}, {x, y});
  }
  if (narrow) finish_f32(ctx, 0, y);
}

namespace {

// The sum of the real elements, divided by their number as for a known size: a mean of the bound
// that is scaled afterwards is rounded differently. The sum of a narrow float is f32, because its
// type may not represent the sum or the number.
BoundResult bound_mean(BoundContext& ctx, std::vector<int64_t> axes) {
  const Item x = ctx.in[0];
  const DType type = x.value->dtype();
  BoundResult out = bound_reduced(ctx, axes, scalar_tensor(type, 0));
  if (out.size) return out;
  if (!is_float(type)) ctx.refuse_size(x);
  if (axes.empty()) {
    axes.resize(x.value->shape().size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  const DType wide = type == DType::f64 ? type : DType::f32;
  FoldingBuilder& build = ctx.build;
  const auto cast = [&](ir::Value* v, DType to) {
    return v->dtype() == to ? v : build.newest("Cast", {v}, {{"to", onnx_from_dtype(to).value()}});
  };
  double others = 1;  // elements of the other axes for each place of the sized one
  for (const int64_t axis : axes)
    if (static_cast<size_t>(axis) != x.axis)
      others *= static_cast<double>(x.value->shape()[static_cast<size_t>(axis)]);
  ir::Value* sum =
      build.newest("ReduceSum",
                   {cast(ctx.in[0].value, wide),
                    build.constant(Tensor::of<int64_t>({static_cast<int64_t>(axes.size())}, axes))},
                   {{"keepdims", ctx.node.int_attr("keepdims", 1)}});
  if (sum->producer()) sum->producer()->name = ctx.node.name;
  ir::Value* number = cast(x.size, wide);
  if (others != 1)
    number = build.newest("Mul", {number, build.constant(scalar_tensor(wide, others))});
  out.whole = cast(build.newest("Div", {sum, number}), type);
  return out;
}

}  // namespace

BoundResult bound_reduction(BoundContext& ctx, kernels::Reduction kind) {
  if (!ctx.in[0].size) return {};
  const DType type = ctx.in[0].value->dtype();
  const std::vector<int64_t> axes = ctx.axes_of(1, ctx.shape().size());
  switch (kind) {
    case kernels::Reduction::max:
    case kernels::Reduction::log_sum_exp: return bound_reduced(ctx, axes, extreme(type, false));
    case kernels::Reduction::min: return bound_reduced(ctx, axes, extreme(type, true));
    case kernels::Reduction::prod: return bound_reduced(ctx, axes, scalar_tensor(type, 1));
    case kernels::Reduction::mean: return bound_mean(ctx, axes);
    default: return bound_reduced(ctx, axes, scalar_tensor(type, 0));
  }
}

void axes_of_reduce(AxesContext& ctx) {
  bool noop = false;
  const auto reduced = reduce_axes(ctx.node, noop);
  if (!reduced) return;
  axes::remaining(ctx, 0, 0, *reduced, ctx.node.int_attr("keepdims", 1) != 0);
  for (const int64_t a : *reduced) ctx.reduce({{0, static_cast<size_t>(a)}});
}

}  // namespace poprt::ops

#include "base/checked.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"
#include "ops/common/whole_numbers.h"

namespace poprt::ops::split_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  const size_t parts = ctx.node.outputs().size();
  bool known = true;
  std::optional<std::vector<int64_t>> sizes;
  if (ctx.opset() < 2 && ctx.has(1)) {  // the sizes have the type of the data
    const Tensor* given = ctx.constant(1);
    known = given != nullptr;
    if (given) sizes = whole_numbers(ctx.node, *given);
  } else {
    sizes = axes_of(ctx, 1, "split", known);
  }
  if (!in.has_shape) {
    for (size_t i = 0; i < parts; i++) ctx.out_dtype(i, in.dtype);
    return;
  }
  const auto axis = static_cast<size_t>(
      axis_of(ctx, ctx.node.int_attr("axis", 0), static_cast<int64_t>(in.shape.size())));
  const int64_t total = in.shape[axis];
  if (known && !sizes && total >= 0) {
    const auto n = static_cast<int64_t>(parts);
    const int64_t wanted = ctx.node.int_attr("num_outputs", n);
    if (wanted != n) ctx.fail_input("num_outputs is {}, the node has {} outputs", wanted, n);
    // From opset 18 on the last part may be smaller. Before, the parts must be equal.
    if (ctx.opset() < 18 && total % n != 0)
      ctx.fail_input("dimension {} of {} does not split into {} equal parts", axis,
                     shape_string(in.shape), n);
    const int64_t each = (total + n - 1) / n;
    sizes.emplace(parts, each);
    sizes->back() = total - each * (n - 1);
    if (sizes->back() < 0)
      ctx.fail_input("dimension {} of {} does not split into {} parts", axis,
                     shape_string(in.shape), n);
  }
  if (sizes) {
    if (sizes->size() != parts)
      ctx.fail_input("split has {} sizes, the node has {} outputs", sizes->size(), parts);
    int64_t sum = 0;
    for (const int64_t s : *sizes) {
      if (s < 0 || (total >= 0 && s > total)) ctx.fail_input("split size {} of {}", s, total);
      sum = checked_add(sum, s, "the sum of split sizes");
    }
    if (total >= 0 && sum != total)
      ctx.fail_input("split sizes sum to {}, dimension {} is {}", sum, axis, total);
  }
  for (size_t i = 0; i < parts; i++) {
    Shape out = in.shape;
    out[axis] = sizes ? (*sizes)[i] : kUnknownDim;
    ctx.out(i, in.dtype, std::move(out));
  }
}

void lower(LowerContext& ctx) {
  const Shape& in = ctx.in_shape(0);
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", 0), static_cast<int64_t>(in.size())));
  const auto strides = contiguous_strides(in);
  int64_t offset = 0;
  for (size_t i = 0; i < ctx.node.outputs().size(); i++) {
    const Shape& out = ctx.out_shape(i);
    StridedCopy copy{out, strides, contiguous_strides(out), offset, 0};
    offset += out[axis] * strides[axis];
    const auto to = ctx.out(i);
    if (to != LowerContext::kNone) emit_strided_copy(ctx, ctx.in(0), to, ctx.in_dtype(0), copy);
  }
}

BoundResult bound(BoundContext& ctx) {
  Items& in = ctx.in;
  ctx.refuse_sizes(1);
  if (ctx.axis_attr(0) == in[0].axis) ctx.refuse_size(in[0]);
  return {in[0].size, in[0].axis};
}

void map_axes(AxesContext& ctx) {
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", 0), static_cast<int64_t>(ctx.in(0).size())));
  int64_t offset = 0;
  for (size_t o = 0; o < ctx.output_count(); o++) {
    if (!ctx.makes(o)) return;  // the next offset is unknown
    axes::same(ctx, 0, o, std::span(&axis, 1));
    if (ctx.out(o)[axis] == ctx.in(0)[axis])
      ctx.carry(0, axis, o, axis);
    else
      ctx.link({0, axis, o, axis, kNoRepeat, 1, 1, -offset});
    offset += ctx.out(o)[axis];
  }
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Split",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .sharing = {.parts = true},
                   .facts = {.moves = true,
                             .narrows = true,
                             .shape_inputs = 0b10,
                             .constant_inputs = 0b10,
                             .s64_inputs = ~0b1u,
                             .monotone = Monotone::first,
                             .trial = {"T[4,4]", "num_outputs = 2", 2}},
                   .bound = bound};

}  // namespace poprt::ops::split_op

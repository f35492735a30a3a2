#include <algorithm>

#include "ops/common/movement.h"

namespace poprt::ops::slice_op {
namespace {

struct Range {
  int64_t start = 0, step = 1, count = 0;
};

struct Request {
  std::vector<int64_t> starts, ends, axes, steps;
  bool known = true;  // starts, ends and steps are constant
};

// Ends are often INT64_MAX or INT64_MIN: clamp before any arithmetic.
Range range_of(int64_t start, int64_t end, int64_t step, int64_t size) {
  const auto from_end = [size](int64_t i) { return i < 0 ? std::max(i, -size - 1) + size : i; };
  start = from_end(start);
  end = from_end(end);
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, size);
    end = std::clamp<int64_t>(end, 0, size);
    const int64_t span = std::max<int64_t>(0, end - start);
    return {start, step, span == 0 ? 0 : (span - 1) / step + 1};
  }
  start = std::clamp<int64_t>(start, -1, size - 1);
  end = std::clamp<int64_t>(end, -1, size - 1);
  const int64_t span = std::max<int64_t>(0, start - end);
  // -(step + 1) does not overflow for INT64_MIN.
  const auto stride = static_cast<uint64_t>(-(step + 1)) + 1;
  const int64_t count =
      span == 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(span - 1) / stride) + 1;
  return {start, count > 1 ? step : -1, count};
}

template <class Ints, class Has>
Request read(const ir::Node& node, int64_t opset, Ints ints, Has has) {
  Request r;
  bool axes_given = false;
  if (opset < 10) {
    r.starts = node.ints_attr("starts");
    r.ends = node.ints_attr("ends");
    r.axes = node.ints_attr("axes");
    axes_given = node.find_attr("axes") != nullptr;
  } else {
    const auto take = [&](size_t i, std::vector<int64_t>& to) {
      if (!has(i)) return false;
      if (auto v = ints(i))
        to = std::move(*v);
      else
        r.known = false;
      return true;
    };
    take(1, r.starts);
    take(2, r.ends);
    axes_given = take(3, r.axes);
    take(4, r.steps);
  }
  if (!axes_given)
    for (size_t i = 0; i < r.starts.size(); i++) r.axes.push_back(static_cast<int64_t>(i));
  if (r.steps.empty()) r.steps.assign(r.starts.size(), 1);
  return r;
}

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  if (ctx.opset() >= 10) {
    check_index_dtype(ctx, 1);
    check_index_dtype(ctx, 2);
  }
  if (!in.has_shape) return ctx.out_dtype(0, in.dtype);
  const Request r = read(
      ctx.node, ctx.opset(), [&](size_t i) { return ctx.ints(i); },
      [&](size_t i) { return ctx.has(i); });
  const auto rank = static_cast<int64_t>(in.shape.size());
  if (!r.known) {
    // Axes that are known to stay keep their size.
    Shape out(in.shape.size(), kUnknownDim);
    if (const auto axes = ctx.ints(3)) {
      out = in.shape;
      for (const int64_t a : *axes) out[static_cast<size_t>(axis_of(ctx, a, rank))] = kUnknownDim;
    }
    return ctx.out(0, in.dtype, std::move(out));
  }
  if (r.starts.size() != r.ends.size() || r.starts.size() != r.axes.size() ||
      r.starts.size() != r.steps.size())
    ctx.fail_input("starts, ends, axes and steps have {}, {}, {} and {} entries", r.starts.size(),
                   r.ends.size(), r.axes.size(), r.steps.size());
  Shape out = in.shape;
  std::vector<bool> seen(out.size());
  for (size_t i = 0; i < r.axes.size(); i++) {
    const auto a = static_cast<size_t>(axis_of(ctx, r.axes[i], rank));
    if (seen[a]) ctx.fail_input("axis {} is given twice", r.axes[i]);
    seen[a] = true;
    if (r.steps[i] == 0) ctx.fail_input("the step of axis {} is 0", r.axes[i]);
    out[a] = in.shape[a] < 0 ? kUnknownDim
                             : range_of(r.starts[i], r.ends[i], r.steps[i], in.shape[a]).count;
  }
  ctx.out(0, in.dtype, std::move(out));
}

void lower(LowerContext& ctx) {
  const Shape& in = ctx.in_shape(0);
  const Request r = read(
      ctx.node, ctx.opset(), [&](size_t i) { return ctx.ints(i); },
      [&](size_t i) { return ctx.has(i); });
  if (!r.known) ctx.fail_unsupported("starts, ends, axes and steps must be constant");
  const Shape& out = ctx.out_shape();
  if (element_count(out) == 0) return;
  StridedCopy copy{out, contiguous_strides(in), contiguous_strides(out)};
  for (size_t i = 0; i < r.axes.size(); i++) {
    const auto a = static_cast<size_t>(normalize_axis(r.axes[i], static_cast<int64_t>(in.size())));
    const Range range = range_of(r.starts[i], r.ends[i], r.steps[i], in[a]);
    copy.from_offset += range.start * copy.from_strides[a];
    copy.from_strides[a] *= range.count > 1 ? range.step : 1;
  }
  emit_strided_copy(ctx, ctx.in(0), ctx.out(0), ctx.in_dtype(0), copy);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Slice",
                   .infer = infer,
                   .lower = lower,
                   .facts = {.moves = true,
                             .narrows = true,
                             .shape_inputs = 0b11110,
                             .constant_inputs = 0b11110,
                             .s64_inputs = ~0b1u,
                             .qdq = QdqForm::moves,
                             .monotone = Monotone::first,
                             .size_rule = SizeRule::slice,
                             .trial = {"T[4,4]; s64[1] = [1]; s64[1] = [3]; s64[1] = [0]"}}};

}  // namespace poprt::ops::slice_op

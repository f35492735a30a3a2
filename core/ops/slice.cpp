#include <algorithm>

#include "ir/newest.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"

namespace poprt::ops::slice_op {
namespace {

struct Range {
  int64_t start = 0, step = 1, count = 0;
};

struct Request {
  std::vector<int64_t> starts, ends, axes, steps;
  bool known = true;  // starts, ends, axes and steps are constant
};

// Ends are often INT64_MAX or INT64_MIN, so they are clamped before any arithmetic. If the step is
// negative, a start in front of the first place is clamped to that place, as in ONNX and ONNX
// Runtime. In Python it selects nothing.
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
  if (size == 0) return {};
  start = std::clamp<int64_t>(start, 0, size - 1);
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
    // Axes that are known to be unchanged keep their size.
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

int64_t divided_up(int64_t a, int64_t b) { return a <= 0 ? 0 : (a - 1) / b + 1; }

// Slices one axis of x from `start` to `end`.
BoundResult slice_axis(BoundContext& ctx, const Item& x, const Extent& start, const Extent& end,
                       int64_t step) {
  const int64_t room = x.value->shape()[x.axis];
  ir::Value* size = x.size ? x.size : ctx.build.integer(room);
  const auto clamped = [&](const Extent& e, int64_t low, int64_t below_size) {
    ir::Value* v = e.actual ? e.actual : ctx.build.integer(e.most);
    if (e.least < 0) {
      ir::Value* from_end = ctx.build.newest("Add", {v, size});
      v = e.most < 0
              ? from_end
              : ctx.build.newest(
                    "Where", {ctx.build.newest("Less", {v, ctx.build.integer(0)}), from_end, v});
    }
    ir::Value* high =
        below_size ? ctx.build.newest("Sub", {size, ctx.build.integer(below_size)}) : size;
    return ctx.build.newest("Max", {ctx.build.newest("Min", {v, high}), ctx.build.integer(low)});
  };
  const auto last = [&](const Extent& e) {  // the largest place that it can be
    return e.least >= 0 ? std::min(e.most, room)
           : e.most < 0 ? std::max(room + e.most, int64_t{0})
                        : room;
  };
  ir::Value *first = nullptr, *count = nullptr;
  int64_t bound = room;
  if (step > 0) {
    const int64_t from = start.least >= 0 ? std::min(start.least, room) : 0;
    bound = std::max<int64_t>(0, last(end) - from);
    if (start.most < 0 && start.least > -room) bound = std::min(bound, -start.least);
    first = clamped(start, 0, 0);
    count = ctx.build.newest("Sub", {clamped(end, 0, 0), first});
  } else {
    // Only a start below -1 may be in front of the first place. It is clamped to that place, which
    // an empty tensor does not have.
    const bool in_front = start.least < -1;
    first = clamped(start, in_front ? 0 : -1, 1);
    count = ctx.build.newest("Sub", {first, clamped(end, -1, 1)});
    if (in_front) count = ctx.build.newest("Min", {count, size});
  }
  // If the end is inside the tensor, it is the size itself, so that equal sizes are one value.
  const bool ends_inside = step == 1 && !start.actual && start.most == 0 && !x.size && end.actual &&
                           end.least >= 0 && end.most <= room;
  const int64_t by = std::abs(step);
  bound = divided_up(bound, by);
  if (by > 1)
    count = ctx.build.newest("Div", {ctx.build.newest("Add", {count, ctx.build.integer(by - 1)}),
                                     ctx.build.integer(by)});
  count = ends_inside ? end.actual : ctx.build.newest("Max", {count, ctx.build.integer(0)});
  const auto axis = static_cast<int64_t>(x.axis);
  const bool plain = step == 1 && !start.actual && start.most >= 0;
  if (plain || bound == 0) {
    const int64_t from = plain ? std::min(start.most, room) : 0;
    const bool all = plain && from == 0 && x.size && !end.actual && end.most >= room;
    ir::Value* part = ctx.build.newest("Slice", {x.value, ctx.build.integers(std::array{from}),
                                                 ctx.build.integers(std::array{from + bound}),
                                                 ctx.build.integers(std::array{axis})});
    return {.size = all ? x.size : count, .axis = x.axis, .whole = all ? x.value : part};
  }
  ir::Value* index = ctx.build.newest(
      "Add", {ctx.build.newest("Mul", {ctx.build.indices(bound), ctx.build.integer(step)}), first});
  index = ctx.build.newest(
      "Max", {ctx.build.newest("Min", {index, ctx.build.integer(room - 1)}), ctx.build.integer(0)});
  return {.size = count, .axis = x.axis, .whole = ctx.gathered(x, index)};
}

struct SliceAxis {
  size_t axis = 0;
  int64_t step = 1;
  Extent start = {}, end = {};
};

// Whether the size is the difference of two equal sizes. An example is the number of tokens before
// the first one in a model without a cache.
bool is_zero(BoundContext& ctx, const ir::Value* size) {
  const ir::Node* n = size ? size->producer() : nullptr;
  while (n && facts_of(*n).source == ElementSource::in_order) n = n->input(0)->producer();
  if (!n || n->op_type != "Sub" || !ir::is_onnx_domain(n->domain)) return false;
  const auto is_number = [](const ir::Value* v) {
    return v->type.is_static() && element_count(v->shape()) == 1;
  };
  ir::Value *a = n->input(0), *b = n->input(1);
  return is_number(a) && is_number(b) && same_size(ctx.element_of(a, 0), ctx.element_of(b, 0));
}

// Whether Slice keeps the first places of the axis, and a value that depends on data states how
// many.
bool cuts_the_end(const SliceAxis& cut, const Shape& shape) {
  return cut.step == 1 && !cut.start.actual && cut.start.most == 0 && cut.end.actual &&
         cut.end.least >= 0 && cut.end.most <= shape[cut.axis];
}

// Cuts x so that two of its axes have the same size, as the axes of a causal mask do. One of them
// may have this size already. Returns nothing if the sizes differ.
std::optional<BoundResult> cut_to_a_square(BoundContext& ctx, const Item& x,
                                           std::span<const SliceAxis> cuts) {
  const Shape& shape = x.value->shape();
  std::vector<size_t> axes;
  ir::Value* size = x.size;
  if (x.size) axes.push_back(x.axis);
  std::vector<int64_t> from, until, along;
  for (const SliceAxis& cut : cuts) {
    if (!cuts_the_end(cut, shape) || (size && !same_size(size, cut.end.actual)))
      return std::nullopt;
    size = cut.end.actual;
    if (std::ranges::count(axes, cut.axis) == 0) axes.push_back(cut.axis);
    from.push_back(0);
    until.push_back(cut.end.most);
    along.push_back(static_cast<int64_t>(cut.axis));
  }
  if (axes.size() != 2) return std::nullopt;
  std::ranges::sort(axes);
  ir::Value* part = ctx.build.newest(
      "Slice",
      {x.value, ctx.build.integers(from), ctx.build.integers(until), ctx.build.integers(along)});
  return BoundResult{.size = size, .axis = axes[0], .twin = axes[1], .whole = part};
}

BoundResult bound(BoundContext& ctx) {
  const ir::Node& n = ctx.node;
  Items& in = ctx.in;
  const Item& x = in[0];
  const Shape& shape = x.value->shape();
  const auto rank = static_cast<int64_t>(shape.size());
  const auto list = [&](size_t i, std::string_view key) {
    if (n.opset() >= 10)
      return in.size() > i && in[i].value ? ctx.extents(i) : std::vector<Extent>();
    std::vector<Extent> out;
    for (const int64_t v : n.ints_attr(key)) out.push_back({v, v, nullptr});
    return out;
  };
  std::vector<Extent> starts = list(1, "starts");
  for (Extent& start : starts)
    if (is_zero(ctx, start.actual)) start = {};
  const std::vector<Extent> ends = list(2, "ends");
  const std::vector<Extent> axes = list(3, "axes"), steps = list(4, "steps");
  if (starts.size() != ends.size() || (!axes.empty() && axes.size() != starts.size()) ||
      (!steps.empty() && steps.size() != starts.size()))
    ctx.fail_at(ErrorCode::invalid_argument, "starts, ends, axes and steps have different lengths");
  // Axes that are entirely real are cut at constant places first, then the remaining axis.
  std::vector<int64_t> from, until, along, by;
  std::vector<SliceAxis> mine;
  for (size_t i = 0; i < starts.size(); i++) {
    if ((!axes.empty() && axes[i].actual) || (!steps.empty() && steps[i].actual))
      ctx.refuse_shape(!axes.empty() && axes[i].actual ? 3 : 4);
    const int64_t axis =
        normalize_axis(axes.empty() ? static_cast<int64_t>(i) : axes[i].most, rank);
    const int64_t step = steps.empty() ? 1 : steps[i].most;
    const bool sized = x.size && axis == static_cast<int64_t>(x.axis);
    if (sized || starts[i].actual || ends[i].actual) {
      mine.push_back({static_cast<size_t>(axis), step, starts[i], ends[i]});
      continue;
    }
    from.push_back(starts[i].most), until.push_back(ends[i].most);
    along.push_back(axis), by.push_back(step);
  }
  Item y = x;
  if (!from.empty())
    y.value =
        ctx.build.newest("Slice", {y.value, ctx.build.integers(from), ctx.build.integers(until),
                                   ctx.build.integers(along), ctx.build.integers(by)});
  if (mine.empty()) return {.size = x.size, .axis = x.axis, .whole = y.value};
  if (std::ranges::count(mine, 0, &SliceAxis::step) != 0)
    ctx.fail_at(ErrorCode::invalid_argument, "a step is 0");
  if (mine.size() > 1 || (x.size && mine[0].axis != x.axis)) {
    if (const auto square = cut_to_a_square(ctx, y, mine)) return *square;
    ctx.refuse_shape(mine.back().start.actual ? 1 : 2);
  }
  y.axis = mine[0].axis;
  return slice_axis(ctx, y, mine[0].start, mine[0].end, mine[0].step);
}

// Starts and ends are clamped to the axis, so any number is valid.
std::optional<NumberLimits> limits(const BoundContext&, size_t input) {
  if (input > 2) return std::nullopt;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return NumberLimits{-kMost, kMost};
}

// A step other than 1 skips places, which no link can express, so these axes are mixed.
void map_axes(AxesContext& ctx) {
  const Request r = read(
      ctx.node, ctx.opset(), [&](size_t i) { return ctx.ints(i); },
      [&](size_t i) { return ctx.has(i); });
  if (!r.known) return;
  const Shape& in = ctx.in(0);
  std::vector<size_t> sliced;
  for (size_t i = 0; i < r.axes.size(); i++) {
    const auto a = static_cast<size_t>(normalize_axis(r.axes[i], static_cast<int64_t>(in.size())));
    const Range range = range_of(r.starts[i], r.ends[i], r.steps[i], in[a]);
    if (range.step == 1 && range.count == in[a]) continue;
    sliced.push_back(a);
    if (range.step == 1) ctx.link({0, a, 0, a, kNoRepeat, 1, 1, -range.start});
  }
  axes::same(ctx, 0, 0, sliced);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Slice",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.moves = true,
                             .narrows = true,
                             .shape_inputs = 0b11110,
                             .extent_inputs = 0b100,
                             .bounds_shape = true,
                             .constant_inputs = 0b11110,
                             .s64_inputs = ~0b1u,
                             .qdq = QdqForm::moves,
                             .monotone = Monotone::first,
                             .shape_limits = limits,
                             .trial = {"T[4,4]; s64[1] = [1]; s64[1] = [3]; s64[1] = [0]"}},
                   .bound = bound};

}  // namespace poprt::ops::slice_op

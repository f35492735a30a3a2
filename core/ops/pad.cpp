#include <numeric>

#include "base/checked.h"
#include "kernels/calls/fill.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"
#include "ops/common/scalar.h"
#include "ops/common/value_since.h"

namespace poprt::ops::pad_op {
namespace {

// Each padded axis has an index map (emit_map_axes). If the maps of mode constant have more entries
// than this in total, a fill and a copy replace them.
constexpr int64_t kLongestMaps = 1 << 14;

struct Pads {
  std::vector<int64_t> begin, end;
};

template <class Context>
std::optional<Pads> pads_of(const Context& ctx, size_t rank) {
  const ir::Node& node = ctx.node;
  std::vector<int64_t> pads;
  std::vector<size_t> axes;
  if (ctx.opset() >= 11) {
    const auto given = ctx.ints(1);
    if (!given) return std::nullopt;
    pads = *given;
    if (node.input(3)) {
      const auto list = ctx.ints(3);
      if (!list) return std::nullopt;
      for (const int64_t a : *list)
        axes.push_back(static_cast<size_t>(normalize_axis(a, static_cast<int64_t>(rank))));
    }
  } else {
    pads = node.ints_attr(ctx.opset() >= 2 ? "pads" : "paddings");
  }
  if (!node.input(3))
    for (size_t i = 0; i < rank; i++) axes.push_back(i);
  if (pads.size() != 2 * axes.size())
    fail(ErrorCode::invalid_argument, "{}: {} pads for {} axes", node.describe(), pads.size(),
         axes.size());
  constexpr int64_t kMostPad = INT64_C(1) << 60;  // sums of pads and sizes do not overflow
  for (const int64_t pad : pads)
    if (pad < -kMostPad || pad > kMostPad)
      fail(ErrorCode::invalid_argument, "{}: a pad of {} is out of range", node.describe(), pad);
  Pads p{std::vector<int64_t>(rank), std::vector<int64_t>(rank)};
  for (size_t i = 0; i < axes.size(); i++) {
    p.begin[axes[i]] = pads[i];
    p.end[axes[i]] = pads[axes.size() + i];
  }
  return p;
}

// The part of an axis that negative pads leave. In all modes, the result consists of its elements
// and of padding.
struct Kept {
  int64_t first, count;
};
Kept kept(const Pads& pads, size_t axis, int64_t size) {
  const int64_t front = std::max<int64_t>(0, -pads.begin[axis]),
                back = std::max<int64_t>(0, -pads.end[axis]);
  return {front, size - front - back};
}

// Checks that an axis has the elements that a mode other than 'constant' reads from it. `axis` has
// a known size.
void check_source(const InferContext& ctx, std::string_view mode, const Pads& pads, size_t axis) {
  const int64_t most = std::max(pads.begin[axis], pads.end[axis]);
  const int64_t count = kept(pads, axis, ctx.in(0).shape[axis]).count;
  if (most > 0 && count <= 0)
    ctx.fail_input("mode '{}' needs elements, axis {} is empty", mode, axis);
  if (mode == "reflect" && most > count - 1)
    ctx.fail_input(
        "a pad of {} on axis {} is too large: mode reflect has {} elements without the edge", most,
        axis, count - 1);
}

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  const std::string mode = ctx.node.string_attr("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    ctx.fail_input("mode '{}' is unknown", mode);
  check_value_since(ctx.node, ctx.opset(), "mode", mode, {"wrap"}, 19);
  if (ctx.has(2) && ctx.opset() >= 11 && ctx.in(2).dtype != in.dtype)
    ctx.fail_input("constant_value is {}, data is {}", dtype_name(ctx.in(2).dtype),
                   dtype_name(in.dtype));
  if (!in.has_shape) return ctx.out_dtype(0, in.dtype);
  const auto pads = pads_of(ctx, in.shape.size());
  if (!pads) return ctx.out(0, in.dtype, Shape(in.shape.size(), kUnknownDim));
  Shape out = in.shape;
  for (size_t i = 0; i < out.size(); i++) {
    if (out[i] < 0) {
      if (pads->begin[i] != 0 || pads->end[i] != 0) out[i] = kUnknownDim;
      continue;
    }
    out[i] = checked_add(checked_add(in.shape[i], pads->begin[i], "pads"), pads->end[i], "pads");
    if (out[i] < 0)
      ctx.fail_input("pads {} and {} remove more than dimension {} of {}", pads->begin[i],
                     pads->end[i], i, shape_string(in.shape));
    if (mode != "constant" && out[i] > 0) check_source(ctx, mode, *pads, i);
  }
  ctx.out(0, in.dtype, std::move(out));
}

int64_t source(std::string_view mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  if (mode == "constant") return -1;
  if (mode == "edge") return i < 0 ? 0 : n - 1;
  if (mode == "wrap") return ((i % n) + n) % n;
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1);
  i = ((i % period) + period) % period;
  return i < n ? i : period - i;
}

// Copies the part of the input that is kept into a filled result, as one strided copy.
void emit_fill_and_copy(LowerContext& ctx, const Pads& pads, program::BufferId value) {
  const Shape &in = ctx.in_shape(0), &out = ctx.out_shape();
  ctx.emit(calls::Fill{}, {value, ctx.out(0)});
  StridedCopy copy{in, contiguous_strides(in), contiguous_strides(out), 0, 0};
  for (size_t i = 0; i < in.size(); i++) {
    const int64_t cut = std::max<int64_t>(0, -pads.begin[i]);
    copy.from_offset += cut * copy.from_strides[i];
    copy.to_offset += std::max<int64_t>(0, pads.begin[i]) * copy.to_strides[i];
    copy.dims[i] = std::max<int64_t>(0, in[i] - cut - std::max<int64_t>(0, -pads.end[i]));
  }
  emit_strided_copy(ctx, ctx.in(0), ctx.out(0), ctx.in_dtype(0), copy);
}

void lower(LowerContext& ctx) {
  const Shape &in = ctx.in_shape(0), &out = ctx.out_shape();
  const auto pads = pads_of(ctx, in.size());
  if (!pads) ctx.fail_unsupported("pads and axes must be constant");
  if (element_count(out) == 0) return;
  const std::string mode = ctx.node.string_attr("mode", "constant");
  const DType dtype = ctx.in_dtype(0);
  program::BufferId value = LowerContext::kNone;
  if (mode == "constant") {
    if (ctx.opset() >= 11) {
      if (ctx.has(2)) value = ctx.in(2);
    } else if (const float v = ctx.node.float_attr("value", 0); v != 0) {
      value = ctx.pack(scalar_tensor(dtype, static_cast<double>(v)));
    }
  }
  int64_t mapped = 0;
  for (size_t i = 0; i < in.size(); i++)
    if (pads->begin[i] != 0 || pads->end[i] != 0) mapped += out[i];
  // Elements smaller than a byte cannot be filled individually.
  if (mode == "constant" && mapped > kLongestMaps && dtype_bits(dtype) >= 8)
    return emit_fill_and_copy(ctx, *pads, value);
  std::vector<std::vector<int64_t>> maps(in.size());
  for (size_t i = 0; i < in.size(); i++) {
    if (pads->begin[i] == 0 && pads->end[i] == 0) continue;
    const Kept part = kept(*pads, i, in[i]);
    for (int64_t o = 0; o < out[i]; o++) {
      const int64_t at = source(mode, o - std::max<int64_t>(0, pads->begin[i]), part.count);
      maps[i].push_back(at < 0 ? at : part.first + at);
    }
  }
  emit_map_axes(ctx, ctx.in(0), value, ctx.out(0), dtype, in, maps);
}

constexpr Extent kNoPad{0, 0, nullptr};

// The number of places that Pad adds before and after each axis.
struct BoundPads {
  std::vector<Extent> begin, end;
};
BoundPads bound_pads(BoundContext& ctx, size_t rank) {
  std::vector<Extent> pads;
  if (ctx.node.opset() >= 11)
    pads = ctx.extents(1);
  else
    for (const int64_t p : ctx.node.ints_attr("pads")) pads.push_back({p, p, nullptr});
  std::vector<int64_t> axes;
  if (ctx.has(3)) {
    axes = ctx.axes_of(3, rank);
  } else {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), int64_t{0});
  }
  BoundPads out{std::vector<Extent>(rank, kNoPad), std::vector<Extent>(rank, kNoPad)};
  for (size_t k = 0; k < axes.size() && 2 * axes.size() == pads.size(); k++) {
    out.begin[static_cast<size_t>(axes[k])] = pads[k];
    out.end[static_cast<size_t>(axes[k])] = pads[k + axes.size()];
  }
  return out;
}

// The value of `extent` at run time.
ir::Value* actual(BoundContext& ctx, const Extent& extent) {
  return extent.actual ? extent.actual : ctx.build.integer(extent.most);
}

// A size or a pad may depend on data along one axis. The padding of x is filled with the value that
// Pad adds, so that the places after the real part are right for every size. The bound of the pad
// before the axis is added, and the result is then shifted to the front by the difference between
// the bound and the actual pad.
BoundResult bound(BoundContext& ctx) {
  const ir::Node& n = ctx.node;
  Items& in = ctx.in;
  ctx.refuse_sizes(1);
  const Item x = in[0];
  const size_t rank = x.value->shape().size();
  const BoundPads pads = bound_pads(ctx, rank);
  std::optional<size_t> at;
  if (x.size) at = x.axis;
  for (size_t d = 0; d < rank; d++) {
    if (!pads.begin[d].actual && !pads.end[d].actual) continue;
    if (at.value_or(d) != d) ctx.refuse_shape(1);
    at = d;
  }
  if (!at) return {};
  const Extent &begin = pads.begin[*at], &end = pads.end[*at];
  if (begin.least == 0 && begin.most == 0 && end.least == 0 && end.most == 0)
    return {x.size, x.axis};
  const int64_t front = std::max<int64_t>(begin.most, 0), back = std::max<int64_t>(end.most, 0);
  const bool is_attribute = n.opset() < 11;
  if (n.string_attr("mode", "constant") != "constant" || x.twin ||
      (is_attribute && (n.opset() < 2 || begin.most < 0 || end.most < 0)))
    x.size ? ctx.refuse_size(x) : ctx.refuse_shape(1);
  ir::Value* value = ctx.has(2) ? ctx.build.reshape(in[2].value, {}) : nullptr;
  if (!value)
    value = ctx.build.constant(scalar_tensor(
        x.value->dtype(), is_attribute ? static_cast<double>(n.float_attr("value", 0)) : 0.0));
  if (x.size) in[0].value = ctx.filled(x, value);
  if (!is_attribute) {
    std::vector<int64_t> whole;
    for (const auto* side : {&pads.begin, &pads.end})
      for (size_t d = 0; d < rank; d++)
        whole.push_back(d != *at ? (*side)[d].most : side == &pads.begin ? front : back);
    in[1] = Item::of(ctx.build.integers(whole));
    if (in.size() > 3) in[3] = {};
  }
  ir::Value* size = x.size ? x.size : ctx.build.integer(x.value->shape()[*at]);
  for (const Extent* pad : {&begin, &end})
    if (pad->most != 0 || pad->least != 0) size = ctx.build.size_of("Add", size, actual(ctx, *pad));
  size = ctx.build.newest("Max", {size, ctx.build.integer(0)});
  BoundResult result{size, *at};
  if (begin.actual || begin.most < 0)
    result.after = [&build = ctx.build, added = actual(ctx, begin), front,
                    axis = *at](ir::Value* y) {
      const int64_t room = y->shape()[axis];
      ir::Value* first = build.newest("Sub", {build.integer(front), added});
      ir::Value* place = build.newest("Add", {build.indices(room), first});
      return build.slice_at(y, build.newest("Min", {place, build.integer(room - 1)}),
                            static_cast<int64_t>(axis));
    };
  return result;
}

// Other modes copy elements from inside the tensor, so the padded axes are mixed.
void map_axes(AxesContext& ctx) {
  const auto pads = pads_of(ctx, ctx.in(0).size());
  if (!pads) return;
  const bool constant = ctx.node.string_attr("mode", "constant") == "constant";
  for (size_t d = 0; d < ctx.in(0).size(); d++) {
    if (pads->begin[d] == 0 && pads->end[d] == 0)
      ctx.carry(0, d, 0, d);
    else if (constant)
      ctx.link({0, d, 0, d, kNoRepeat, 1, 1, pads->begin[d]});
  }
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Pad",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.moves = true,
                             .narrows = true,
                             .shape_inputs = 0b10,
                             .bounds_shape = true,
                             .constant_inputs = 0b1010,
                             .s64_inputs = ~0b101u,
                             .trial = {"T[4,4]; s64[4] = [1, 0, 0, 1]"}},
                   .bound = bound};

}  // namespace poprt::ops::pad_op

#include "base/checked.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"

namespace poprt::ops::concat_op {
namespace {

int64_t axis_attr(const ir::Node& node) {
  // Below opset 4 the default is 1; infer() requires the attribute in later opsets.
  return node.int_attr("axis", 1);
}

void infer(InferContext& ctx) {
  if (ctx.opset() >= 4 && !ctx.node.find_attr("axis"))
    ctx.fail_input("attribute 'axis' is missing");
  const DType dtype = ctx.in(0).dtype;
  Shape out;
  bool known = true;
  size_t axis = 0;
  for (size_t i = 0; i < ctx.input_count(); i++) {
    const ir::ValueType& in = ctx.in(i);
    if (in.dtype != dtype && in.dtype != DType::undefined && dtype != DType::undefined)
      ctx.fail_input("input {} is {}, input 0 is {}", i, dtype_name(in.dtype), dtype_name(dtype));
    known &= in.has_shape;
    if (!known) continue;
    if (i == 0) {
      out = in.shape;
      axis =
          static_cast<size_t>(axis_of(ctx, axis_attr(ctx.node), static_cast<int64_t>(out.size())));
      continue;
    }
    if (in.shape.size() != out.size())
      ctx.fail_input("input {} has rank {}, input 0 has rank {}", i, in.shape.size(), out.size());
    for (size_t d = 0; d < out.size(); d++) {
      if (d == axis) {
        out[d] =
            out[d] < 0 || in.shape[d] < 0 ? kUnknownDim : checked_add(out[d], in.shape[d], "shape");
      } else if (out[d] < 0) {
        out[d] = in.shape[d];
      } else if (in.shape[d] >= 0 && in.shape[d] != out[d]) {
        ctx.fail_input("input {} is {}: dimension {} should be {}", i, shape_string(in.shape), d,
                       out[d]);
      }
    }
  }
  if (!known) return ctx.out_dtype(0, dtype);
  ctx.out(0, dtype, std::move(out));
}

void lower(LowerContext& ctx) {
  const Shape& out = ctx.out_shape();
  const auto axis =
      static_cast<size_t>(normalize_axis(axis_attr(ctx.node), static_cast<int64_t>(out.size())));
  const auto strides = contiguous_strides(out);
  int64_t offset = 0;
  for (size_t i = 0; i < ctx.node.inputs().size(); i++) {
    const Shape& in = ctx.in_shape(i);
    StridedCopy copy{in, contiguous_strides(in), strides, 0, offset};
    offset += in[axis] * strides[axis];
    if (element_count(in) == 0) continue;
    emit_strided_copy(ctx, ctx.in(i), ctx.out(0), ctx.in_dtype(i), copy);
  }
}

// The real part of each input follows directly after the real part of the previous input.
BoundResult bound(BoundContext& ctx) {
  const ir::Node& n = ctx.node;
  Items& in = ctx.in;
  const auto rank = static_cast<int64_t>(in[0].value->shape().size());
  const auto axis = static_cast<size_t>(normalize_axis(n.int_attr("axis", 1), rank));
  BoundResult along;
  for (const Item& item : in) {
    if (!item.size || item.axis == axis) continue;
    if (along.size && along.axis != item.axis) ctx.refuse_size(item);
    along = {item.size, item.axis};
  }
  if (along.size) {
    // Concatenation does not broadcast: all lengths are equal, and a static length is entirely
    // real.
    int64_t bound = std::numeric_limits<int64_t>::max();
    for (const Item& item : in) {
      if (item.size && item.axis == axis) ctx.refuse_size(item);
      bound = std::min(bound, item.value->shape()[along.axis]);
      if (!item.size) along.size = nullptr;
    }
    for (Item& item : in)
      if (item.size) item.value = ctx.with_bound(item, bound);
    return along;
  }
  const auto bound = [&](const ir::Value* v) { return v->shape()[axis]; };
  const std::pair<const std::string, ir::Attribute> at{"axis", static_cast<int64_t>(axis)};
  ir::Value* all = in[0].value;
  ir::Value* real = in[0].size;  // null: the whole input is real
  for (size_t i = 1; i < in.size(); i++) {
    const int64_t room = bound(all), total = room + bound(in[i].value);
    all = ctx.build.make1("Concat", {all, in[i].value}, {at});
    if (real && total > room) {
      ir::Value* place = ctx.build.indices(total);
      ir::Value* moved = ctx.build.newest(
          "Min", {ctx.build.newest(
                      "Add", {place, ctx.build.newest("Sub", {ctx.build.integer(room), real})}),
                  ctx.build.integer(total - 1)});
      all = ctx.build.make1(
          "Gather",
          {all, ctx.build.newest("Where", {ctx.build.newest("Less", {place, real}), place, moved})},
          {at});
    }
    if (real || in[i].size)
      real = ctx.build.newest("Add",
                              {real ? real : ctx.build.integer(room),
                               in[i].size ? in[i].size : ctx.build.integer(bound(in[i].value))});
  }
  return {.size = real, .axis = axis, .whole = all};
}

// Each input occupies the places after the previous input.
void map_axes(AxesContext& ctx) {
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", 1), static_cast<int64_t>(ctx.out().size())));
  int64_t offset = 0;
  for (size_t i = 0; i < ctx.input_count(); i++) {
    if (!ctx.has(i)) continue;
    axes::same(ctx, i, 0, std::span(&axis, 1));
    if (ctx.in(i)[axis] == ctx.out()[axis])
      ctx.carry(i, axis, 0, axis);
    else
      ctx.link({i, axis, 0, axis, kNoRepeat, 1, 1, offset});
    offset += ctx.in(i)[axis];
  }
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Concat",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .sharing = {.joins = true},
                   .facts = {.moves = true,
                             .narrows = true,
                             .source = ElementSource::joined,
                             .text_form = TextForm::passes_on,
                             .text_inputs = kEveryInput,
                             .monotone = Monotone::all,
                             .trial = {"T[4,4]; T[4,4]", "axis = 0"}},
                   .bound = bound};

}  // namespace poprt::ops::concat_op

// The number of distinct items depends on the values. It is exact for a constant input. Otherwise
// bound() replaces the node by poprt.Unique, which has room for every item of the input.
#include <set>
#include <string>

#include "kernels/calls/unique.h"
#include "ops/bound.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/common/reduce.h"

namespace poprt::ops::unique_op {
namespace {

AxisSplit split_of(const ir::Node& node, const Shape& x) {
  if (!node.find_attr("axis")) return {1, element_count(x), 1};
  return split_at(x, normalize_axis(node.int_attr("axis", 0), static_cast<int64_t>(x.size())));
}

int64_t count_of(const Tensor& x, const AxisSplit& s) {
  const auto values = x.to_doubles();
  const bool exact = is_float(x.dtype());
  const uint64_t size = x.count() ? x.bytes() / static_cast<uint64_t>(x.count()) : 0;
  std::set<std::string> items;
  for (int64_t k = 0; k < s.n; k++) {
    std::string item;
    for (int64_t o = 0; o < s.outer; o++)
      for (int64_t i = 0; i < s.inner; i++) {
        const auto at = static_cast<size_t>((o * s.n + k) * s.inner + i);
        const double v = values[at] + 0.0;  // adding 0 turns -0 into 0
        if (exact)
          item.append(reinterpret_cast<const char*>(&v), sizeof v);
        else
          item.append(static_cast<const char*>(x.data()) + at * size, size);
      }
    items.insert(std::move(item));
  }
  return static_cast<int64_t>(items.size());
}

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  const bool flat = !ctx.node.find_attr("axis");
  int64_t count = kUnknownDim, n = kUnknownDim;
  if (x.is_static()) {
    const AxisSplit s = split_of(ctx.node, x.shape);
    n = s.n;
    if (const Tensor* t = ctx.constant(0)) count = count_of(*t, s);
  }
  if (flat) {
    ctx.out(0, x.dtype, {count});
  } else if (x.has_shape) {
    Shape y = x.shape;
    y[static_cast<size_t>(
        normalize_axis(ctx.node.int_attr("axis", 0), static_cast<int64_t>(y.size())))] = count;
    ctx.out(0, x.dtype, std::move(y));
  } else {
    ctx.out_dtype(0, x.dtype);
  }
  ctx.out(1, DType::s64, {count});
  ctx.out(2, DType::s64, {n});
  ctx.out(3, DType::s64, {count});
}

void lower(LowerContext& ctx) {
  const Shape& x = ctx.in_shape(0);
  const AxisSplit s = split_of(ctx.node, x);
  const Shape& y = ctx.out_shape();
  const int64_t bound = ctx.node.find_attr("axis")
                            ? y[static_cast<size_t>(normalize_axis(ctx.node.int_attr("axis", 0),
                                                                   static_cast<int64_t>(y.size())))]
                            : y[0];
  const DType t = ctx.in_dtype(0);
  const bool narrow = is_float(t) && t != DType::f32 && t != DType::f64;
  const auto place = narrow ? out_as_f32(ctx, 0) : ctx.out(0);
  const auto out = [&](size_t i) {
    if (i >= ctx.node.outputs().size()) return LowerContext::kNone;
    if (i != 2 && ctx.out(i) != LowerContext::kNone && ctx.out_shape(i)[0] != bound)
      ctx.fail_unsupported("outputs have different bounds");
    return ctx.out(i);
  };
  ctx.emit(calls::Unique{.outer = s.outer,
                         .n = s.n,
                         .inner = s.inner,
                         .sorted = ctx.node.int_attr("sorted", 1) != 0,
                         .bound = bound},
           {narrow ? in_as_f32(ctx, 0) : ctx.in(0), place, out(1), out(2), out(3)});
  if (narrow) finish_f32(ctx, 0, place);
}

// Items of x past its size are replaced by copies of the first item, so that they add no item to
// the result. The copies are subtracted from the count of the first item (output 3).
BoundResult bound(BoundContext& ctx) {
  Item x = ctx.in[0];
  const bool flat = !ctx.node.find_attr("axis");
  if (x.twin || (x.size && !flat && x.axis != ctx.axis_attr(0))) ctx.refuse_size(x);
  if (!x.size && x.value->is_constant()) return {};
  if (x.size && flat) {
    const Item rows = ctx.compacted(x);
    const int64_t inner = rows.value->shape()[1], all = element_count(rows.value->shape());
    x = Item::of(ctx.build.reshape(rows.value, {all}));
    x.sized(inner == 1 ? rows.size : ctx.build.size_of("Mul", rows.size, ctx.build.integer(inner)),
            0);
  }
  const int64_t room = x.size ? x.value->shape()[x.axis] : 0;
  if (room == 0) x.size = nullptr;
  ir::Value* items = x.size ? ctx.from_front(x, x.size) : x.value;
  ir::Node* made = ctx.build.target().add_node("Unique", "poprt", {items}, 4);
  made->attributes = ctx.node.attributes;
  ops::infer(*made);
  ir::Value* size = ctx.build.find_or_make("Count", "poprt", {made->output(3)});
  if (x.size) size = ctx.build.newest("Min", {size, x.size});
  BoundResult out;
  for (size_t i = 0; i < ctx.node.outputs().size(); i++) {
    Item item = Item::of(made->output(i));
    if (i == 3 && x.size) {
      ir::Value* first = ctx.build.slice_at(made->output(2), ctx.build.integer(0), 0);
      ir::Value* copies = ctx.build.newest("Sub", {ctx.build.integer(room), x.size});
      ir::Value* is_first =
          ctx.build.newest("Equal", {ctx.build.indices(made->output(3)->shape()[0]), first});
      item.value = ctx.build.newest(
          "Sub", {item.value, ctx.build.newest("Where", {is_first, copies, ctx.build.integer(0)})});
    }
    // Output 2 maps each item of x to its place in the result.
    if (i != 2)
      item.sized(size, i == 0 && !flat ? ctx.axis_attr(0) : 0);
    else if (x.size)
      item.sized(x.size, 0);
    out.results.push_back(item);
  }
  return out;
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Unique",
                   .since = 11,
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::none,
                   .cost = cost::unique,
                   .facts = {.data_sized = true, .trial = {"T[4]", "sorted = 1", 4}},
                   .bound = bound};

}  // namespace poprt::ops::unique_op

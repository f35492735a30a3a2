// poprt.Shift (step s32, x): keeps the last `length` places along an axis from one run to the next,
// newest first. `slots` states are used in turn by step; step 0 fills all of them with zeros.
#include "kernels/calls/shift.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/common/movement.h"

namespace poprt::ops::poprt_shift_op {
namespace {

size_t axis_of(const ir::Node& node, const Shape& x) {
  return static_cast<size_t>(
      normalize_axis(node.int_attr("axis", 0), static_cast<int64_t>(x.size())));
}

// `slots` is limited because the state has that many copies of the result.
void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(1);
  const int64_t length = ctx.node.int_attr("length", 0), slots = ctx.node.int_attr("slots", 1);
  constexpr int64_t kMostSlots = 1 << 20;
  if (length < 0 || slots < 1 || slots > kMostSlots)
    ctx.fail_input("length is {} and slots {}", length, slots);
  if (!x.is_static()) return ctx.out_dtype(0, x.dtype);
  Shape shape = x.shape;
  shape[axis_of(ctx.node, shape)] = length;
  ctx.out(0, x.dtype, std::move(shape));
}

void lower(LowerContext& ctx) {
  const Shape &x = ctx.in_shape(1), &y = ctx.out_shape();
  const size_t axis = axis_of(ctx.node, x);
  const int64_t slots = ctx.node.int_attr("slots", 1);
  Shape all = y;
  all.insert(all.begin(), slots);
  ctx.emit(calls::Shift{.slots = slots,
                        .outer = partial_product(y, 0, axis),
                        .length = y[axis],
                        .added = x[axis],
                        .inner = partial_product(y, axis + 1, y.size())},
           {ctx.in(0), ctx.in(1),
            ctx.state(ctx.node.int_attr(kStateAttribute, -1), ctx.in_dtype(1), all), ctx.out(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Shift",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::none,
                   .cost = cost::shift,
                   .pure = false,
                   .stateful = true,
                   .facts = {.trial = {"s32[]; T[4,4]", "axis = 0, length = 8"}}};

}  // namespace poprt::ops::poprt_shift_op

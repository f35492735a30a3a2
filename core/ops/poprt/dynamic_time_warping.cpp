// poprt.DynamicTimeWarping: costs [M,N] to the cheapest path s32 [2, M + N - 1], whose rows and
// columns after its end are -1, and the number of its elements, an s64 scalar.
#include "kernels/calls/dynamic_time_warping.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"

namespace poprt::ops::poprt_dynamic_time_warping_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (x.is_static()) {
    if (x.shape.size() != 2 || element_count(x.shape) == 0)
      ctx.fail_input("input {} must be a matrix that is not empty", shape_string(x.shape));
    ctx.out(0, DType::s32, {2, x.shape[0] + x.shape[1] - 1});
  } else {
    ctx.out_dtype(0, DType::s32);
  }
  ctx.out(1, DType::s64, {});
}

void lower(LowerContext& ctx) {
  const Shape& x = ctx.in_shape(0);
  const auto or_unread = [&](size_t i) {
    const auto id = i < ctx.node.outputs().size() ? ctx.out(i) : LowerContext::kNone;
    return id != LowerContext::kNone ? id
                                     : ctx.temporary(i ? DType::s64 : DType::s32,
                                                     i ? Shape{} : Shape{2, x[0] + x[1] - 1});
  };
  ctx.emit(calls::DynamicTimeWarping{.rows = x[0], .columns = x[1]},
           {in_as_f32(ctx, 0), or_unread(0), or_unread(1), ctx.temporary(DType::u8, x)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "DynamicTimeWarping",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::none,
                   .cost = cost::dynamic_time_warping,
                   .facts = {.trial = {"T[4,4]", "", 2}}};

}  // namespace poprt::ops::poprt_dynamic_time_warping_op

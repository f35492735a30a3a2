// poprt.CheckSize (x) {most, option}: x, integers that decide a size. If one of them is outside
// [0, most] in a run, the run fails. With option = 1, `most` is from option max_size.
#include "kernels/calls/check_size.h"

#include "ops/common/axes.h"
#include "ops/op.h"

namespace poprt::ops::poprt_check_size_op {
namespace {

void infer(InferContext& ctx) { ctx.out(0, ctx.in(0)); }

void lower(LowerContext& ctx) {
  if (element_count(ctx.in_shape(0)) == 0) return;
  ctx.emit(calls::CheckSize{.most = ctx.node.int_attr("most", 0),
                            .option = ctx.node.int_attr("option", 0) != 0},
           {ctx.in(0), ctx.out(0)});
}

void map_axes(AxesContext& ctx) { axes::same(ctx, 0, 0); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "CheckSize",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.trial = {"s64[4]", "most = 9"}}};

}  // namespace poprt::ops::poprt_check_size_op

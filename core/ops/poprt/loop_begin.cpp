// poprt.LoopBegin (count?, condition?, states...) {most, limit, condition, clear}: the nodes up to
// the matching poprt.LoopEnd run repeatedly.
//
// Outputs: the index (an s64 scalar, after the loop the number of rounds); with condition = 1 the
// condition (bool); the states; and one accumulator for each scan output, whose type the compiler
// sets. The memory of states and accumulators stays allocated until their last reader, also after
// the loop.
//
// `most` bounds the number of rounds; with limit = 1, a loop that would run more rounds makes the
// run fail (program::ControlLoop). With clear = 1 accumulators start as zeros, because fewer rounds
// may run.
#include "kernels/calls/copy.h"
#include "kernels/calls/fill.h"
#include "ops/common/axes.h"
#include "ops/op.h"
#include "program/control.h"

namespace poprt::ops::poprt_loop_begin_op {
namespace {

void infer(InferContext& ctx) {
  if (ctx.input_count() < 2) ctx.fail_input("the first inputs must be a count and a condition");
  const size_t condition = ctx.node.int_attr("condition", 0) != 0;
  ctx.out(0, DType::s64, {});
  if (condition) ctx.out(1, ctx.in(1));
  for (size_t i = 2; i < ctx.input_count(); i++) ctx.out(i - 1 + condition, ctx.in(i));
}

void lower(LowerContext& ctx) {
  const bool condition = ctx.node.int_attr("condition", 0) != 0;
  const size_t states = ctx.node.inputs().size() - 2;
  size_t o = 1;
  const auto begin = [&](size_t input) {
    const auto to = ctx.out(o++);
    if (to != LowerContext::kNone && element_count(ctx.in_shape(input)) > 0)
      ctx.emit(calls::Copy{}, {ctx.in(input), to});
  };
  if (condition) begin(1);
  for (size_t i = 0; i < states; i++) begin(2 + i);
  for (; o < ctx.node.outputs().size(); o++)
    if (ctx.node.int_attr("clear", 0) && ctx.out(o) != LowerContext::kNone)
      ctx.emit(calls::Fill{}, {LowerContext::kNone, ctx.out(o)});
  // If the body never changes the condition, it is read from the input.
  const auto test = condition ? ctx.out(1) : ctx.has(1) ? ctx.in(1) : LowerContext::kNone;
  ctx.emit(program::ControlLoop{.most = ctx.node.int_attr("most", 0),
                                .limit = ctx.node.int_attr("limit", 0) != 0},
           {ctx.has(0) ? ctx.in(0) : LowerContext::kNone, test, ctx.out(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "LoopBegin",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::none,
                   .pure = false,
                   .facts = {.marker = Marker::loop_begin}};

}  // namespace poprt::ops::poprt_loop_begin_op

// poprt.LoopEnd (index, pairs..., kept?) {states, stage}: ends the region of the matching
// poprt.LoopBegin.
//
// The first `states` pairs are (next, state): the state becomes next. States in `stage` are copied
// through a temporary, because another copy would overwrite the value that they read. The other
// pairs are (part, accumulator): accumulator[index] = part. `kept` is an input only to extend its
// lifetime to this node.
#include "kernels/calls/copy.h"
#include "kernels/calls/store_slice.h"
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "program/control.h"

namespace poprt::ops::poprt_loop_end_op {
namespace {

// The compiler creates these nodes, but a file may contain any input.
void infer(InferContext& ctx) {
  if (ctx.input_count() < 1) ctx.fail_input("the first input must be the index");
  const auto pairs = static_cast<int64_t>((ctx.input_count() - 1) / 2);
  const int64_t states = ctx.node.int_attr("states", 0);
  if (states < 0 || states > pairs)
    ctx.fail_input("{} states, but {} pairs of inputs", states, pairs);
  for (const int64_t s : ctx.node.ints_attr("stage"))
    if (s < 0 || s >= states) ctx.fail_input("stage {} of {} states", s, states);
}

void lower(LowerContext& ctx) {
  const auto states = static_cast<size_t>(ctx.node.int_attr("states", 0));
  const size_t pairs = (ctx.node.inputs().size() - 1) / 2;
  std::vector<program::BufferId> from(pairs);
  for (size_t i = 0; i < pairs; i++) from[i] = ctx.in(1 + 2 * i);
  const auto empty = [&](size_t i) { return element_count(ctx.in_shape(1 + 2 * i)) == 0; };
  for (size_t i = states; i < pairs; i++)
    if (!empty(i)) ctx.emit(calls::StoreSlice{}, {from[i], ctx.in(0), ctx.in(2 + 2 * i)});
  for (const int64_t s : ctx.node.ints_attr("stage")) {
    const auto i = static_cast<size_t>(s);
    if (empty(i)) continue;
    const auto kept = ctx.temporary(ctx.in_dtype(1 + 2 * i), ctx.in_shape(1 + 2 * i));
    ctx.emit(calls::Copy{}, {from[i], kept});
    from[i] = kept;
  }
  for (size_t i = 0; i < states; i++)
    if (!empty(i)) ctx.emit(calls::Copy{}, {from[i], ctx.in(2 + 2 * i)});
  ctx.emit(program::ControlEnd{}, {});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "LoopEnd",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::none,
                   .pure = false,
                   .facts = {.marker = Marker::loop_end}};

}  // namespace poprt::ops::poprt_loop_end_op

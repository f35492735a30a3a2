// The compiler resolves this operator because sequences exist at compile time only.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/resolve.h"

namespace poprt::ops::sequence_length_op {
namespace {

void infer(InferContext& ctx) { ctx.out(0, DType::s64, {}); }

void resolve(ResolveContext& ctx) {
  if (ctx.reads_kept(0)) return ctx.keep();
  const Item& sequence = ctx.counted_sequence(0);
  Item length = Item::of(ctx.build.integer(std::ssize(sequence.elements)));
  if (sequence.size) {
    length.actual = sequence.size;
    length.least = ctx.build.integer(0);
  }
  ctx.set_output(0, std::move(length));
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "SequenceLength",
                   .since = 11,
                   .infer = infer,
                   .lower = lower_container,
                   .axes = axes::none,
                   .resolve = resolve};

}  // namespace poprt::ops::sequence_length_op

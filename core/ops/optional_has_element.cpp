// The compiler resolves this operator because optionals exist at compile time only.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/resolve.h"

namespace poprt::ops::optional_has_element_op {
namespace {

void infer(InferContext& ctx) { ctx.out(0, DType::boolean, {}); }

void resolve(ResolveContext& ctx) {
  const bool present = ctx.actual(0).kind != Item::Kind::none;
  ctx.set_output(0, Item::of(ctx.build.constant(Tensor::scalar(present))));
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "OptionalHasElement",
                   .since = 15,
                   .infer = infer,
                   .lower = lower_container,
                   .axes = axes::none,
                   .resolve = resolve};

}  // namespace poprt::ops::optional_has_element_op

// The compiler resolves this operator because optionals exist at compile time only.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/resolve.h"

namespace poprt::ops::optional_get_element_op {

namespace {

void resolve(ResolveContext& ctx) {
  const Item item = ctx.actual(0);
  if (item.kind == Item::Kind::none)
    ctx.fail_at(ErrorCode::invalid_argument, "the optional has no element");
  ctx.set_output(0, item);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "OptionalGetElement",
                   .since = 15,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .axes = axes::none,
                   .resolve = resolve};

}  // namespace poprt::ops::optional_get_element_op

// Resolved by the compiler: containers exist at compile time only.
#include "ops/common/compile_time.h"

namespace poprt::ops::optional_has_element_op {
namespace {

void infer(InferContext& ctx) { ctx.out(0, DType::boolean, {}); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "OptionalHasElement",
                   .since = 15,
                   .infer = infer,
                   .lower = lower_container,
                   .facts = {.flow = Flow::optional_has_element}};

}  // namespace poprt::ops::optional_has_element_op

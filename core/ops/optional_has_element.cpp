// Taken apart by the compiler (compiler/flow/specialize.h): containers exist at compile time only.
#include "ops/op.h"

namespace poprt::ops {
namespace {

void lower(LowerContext& ctx) {
  ctx.fail_unsupported("sequences and optionals must be taken apart by the compiler first");
}

}  // namespace

extern const OpDef optional_has_element_op;
const OpDef optional_has_element_op = {.name = "OptionalHasElement", .since = 15, .lower = lower};

}  // namespace poprt::ops

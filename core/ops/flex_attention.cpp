// Attention with modifier subgraphs, which the compiler inlines (compiler/flow/specialize.h).
#include "ops/op.h"

namespace poprt::ops {
namespace {

void lower(LowerContext& ctx) {
  ctx.fail_unsupported("its modifiers must be inlined by the compiler first");
}

}  // namespace

extern const OpDef flex_attention_op;
const OpDef flex_attention_op = {
    .name = "FlexAttention", .domain = "ai.onnx.preview", .lower = lower};

}  // namespace poprt::ops

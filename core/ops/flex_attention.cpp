// Attention with modifier subgraphs, which the compiler inlines (compiler/flow/specialize.h).
#include "ops/common/compile_time.h"

namespace poprt::ops::flex_attention_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &q = ctx.in(0), &v = ctx.in(2);
  if (q.shape.size() == 4 && v.shape.size() == 4)
    ctx.out(0, q.dtype, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "FlexAttention",
                   .domain = "ai.onnx.preview",
                   .since = 1,
                   .infer = infer,
                   .lower = lower_container,
                   .facts = {.flow = Flow::flex_attention}};

}  // namespace poprt::ops::flex_attention_op

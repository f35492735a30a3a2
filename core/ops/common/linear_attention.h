// Helpers shared by LinearAttention and GatedDeltaNet of com.microsoft.
#pragma once

#include <string>

#include "ops/common/expansion.h"

namespace poprt::ops {

// The operands of LinearAttention of ai.onnx; there may be fewer heads of queries than of keys.
struct LinearAttentionCall {
  ir::Value *q = nullptr, *k = nullptr, *v = nullptr;  // [B,T,heads*D]
  ir::Value* state = nullptr;                          // [B,kv_heads,dk,dv]; null: zeros
  ir::Value* decay = nullptr;                          // [B,T,kv_heads] or [B,T,kv_heads*dk]
  ir::Value* beta = nullptr;                           // [B,T,kv_heads] or [B,T,1]
  int64_t heads = 0, kv_heads = 0;
  std::string rule;
  float scale = 0;  // 0: 1 / sqrt(dk)

  bool gated() const { return rule == "gated" || rule == "gated_delta"; }
  bool delta() const { return rule == "delta" || rule == "gated_delta"; }
};

struct LinearAttentionResult {
  ir::Value *y, *state;
};

LinearAttentionResult attend_linearly(Expansion& e, LinearAttentionCall call);

// Repeats each head of x [B,T,heads*D] `times` times, next to each other.
ir::Value* repeated_heads(Expansion& e, ir::Value* x, int64_t heads, int64_t times);

}  // namespace poprt::ops

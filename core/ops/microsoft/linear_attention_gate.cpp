// Inputs: a [B,T,H], dt_bias f32 [H], decay_scale f32 [H], b? [B,T,H]. Outputs: decay = decay_scale
// * softplus(a + dt_bias), beta? = sigmoid(b). The computation is in f32.
#include "ops/common/expansion.h"

POPRT_EXPANSION_WITH_FACTS(
    microsoft_linear_attention_gate_op, "com.microsoft", "LinearAttentionGate",
    [](Expansion& e) {
      const Shape a = e.shape(0);
      const DType type = e.dtype(0);
      e.check(!a.empty() && e.shape(1) == Shape{a.back()} && e.shape(2) == Shape{a.back()},
              "dt_bias and decay_scale must have an element for each head");
      ir::Value* sum = e.add("Add", {e.cast(e.in(0), DType::f32), e.in(1)});
      e.out(0, e.cast(e.add("Mul", {e.in(2), e.add("Softplus", {sum})}), type));
      if (!e.wants(1)) return;
      e.check(e.has(3) && e.shape(3) == a, "output beta requires input b with the shape of a");
      e.out(1, e.cast(e.add("Sigmoid", {e.cast(e.in(3), DType::f32)}), type));
    },
    .trial = {"T[1,4,4]; f32[4]; f32[4]"})

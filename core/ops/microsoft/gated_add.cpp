// Inputs: X, Y [.., C], gate [.., 1]. Computes X + Y * gate.
#include "ops/common/expansion.h"

POPRT_EXPANSION_WITH_FACTS(
    microsoft_gated_add_op, "com.microsoft", "GatedAdd",
    [](Expansion& e) {
      Shape gate = e.shape(0);
      e.check(!gate.empty() && e.shape(1) == gate, "X and Y must have the same shape");
      if (e.has(3))
        e.fail_unsupported("gate_weight; multiply and apply Sigmoid in front of the operator");
      gate.back() = 1;
      e.check(e.shape(2) == gate, "gate must have one element for each row of X");
      e.out(0, e.add("Add", {e.in(0), e.add("Mul", {e.in(1), e.in(2)})}));
    },
    .trial = {"T[4,4]; T[4,4]; T[4,1]"})

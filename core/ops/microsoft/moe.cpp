// Inputs: input [rows, hidden] or [B,S,hidden], router_probs [rows, experts], fc1_experts_weights
// [experts, inner, hidden], fc1_experts_bias?, fc2_experts_weights [experts, hidden, inner],
// fc2_experts_bias?, fc3_experts_weights?, fc3_experts_bias?.
#include "ops/common/dimension.h"
#include "ops/common/experts.h"

namespace poprt::ops::microsoft_moe_op {
namespace {

void expand(Expansion& e) {
  const Shape x = e.shape(0);
  e.check((x.size() == 2 || x.size() == 3) && x.back() > 0,
          "input must be [rows, hidden] or [batch, sequence, hidden]");
  if (e.node.int_attr("use_sparse_mixer", 0)) e.fail_unsupported("use_sparse_mixer");
  const int64_t rows = element_count(x) / x.back(), experts = dimension(e, e.in(2), 0);
  ExpertsCall call;
  call.x = e.reshape(e.in(0), {rows, x.back()});
  call.fc1 = {e.in(2), e.in_or_null(3)};
  call.fc2 = {e.in(4), e.in_or_null(5)};
  call.fc3 = {e.in_or_null(6), e.in_or_null(7)};
  const Routed r = route(e, e.in(1), rows, experts);
  call.chosen = r.chosen;
  if (e.node.int_attr("normalize_routing_weights", 0)) {
    call.shares = e.newest("Softmax", {r.logits}, {{"axis", int64_t{1}}});
  } else {
    ir::Value* all = e.newest("Softmax", {e.in(1)}, {{"axis", int64_t{1}}});
    call.shares = e.newest("GatherElements", {all, r.chosen}, {{"axis", int64_t{1}}});
  }
  e.out(0, e.reshape(apply_experts(e, call), x));
}

}  // namespace
}  // namespace poprt::ops::microsoft_moe_op

POPRT_EXPANSION_WITH_FACTS(microsoft_moe_op, "com.microsoft", "MoE", expand,
                           .trial = {"T[4,4]; T[4,2]; T[2,4,4]; _; T[2,4,4]"})

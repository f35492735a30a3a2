// Inputs: query [B,T,Hq*dk], key [B,T,Hk*dk], value [B,T,Hk*dv], past_state? [B,Hk,dk,dv], decay?,
// beta?. Outputs: output [B,T,max(Hq,Hk)*dv], present_state. As LinearAttention of ai.onnx; in
// addition, there may be fewer heads of queries than of keys, and with state_window W the states
// have an axis of W in front, with the states after the last W tokens.
#include "ops/common/linear_attention.h"

#include <algorithm>

#include "ops/common/dimension.h"

namespace poprt::ops::microsoft_linear_attention_op {
namespace {

constexpr int64_t kMostStates = 8;

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  LinearAttentionCall call;
  call.q = e.in(0);
  call.k = e.in(1);
  call.v = e.in(2);
  call.heads = n.int_attr("q_num_heads", 0);
  call.kv_heads = n.int_attr("kv_num_heads", 0);
  call.rule = n.string_attr("update_rule", "gated_delta");
  call.scale = n.float_attr("scale", 0);
  if (call.gated()) call.decay = e.in(4);
  if (call.delta()) call.beta = e.in(5);
  e.check(e.shape(0).size() == 3, "query must be [batch, sequence, heads * size]");
  const int64_t window = n.int_attr("state_window", 0);
  e.check(window >= 0 && window <= kMostStates, "state_window must be in 0 to 8");
  if (e.has(3)) {
    call.state = e.in(3);
    if (window) {
      e.check(e.shape(3).size() == 5 && e.shape(3)[0] == window,
              "past_state must be [state_window, batch, heads, dk, dv]");
      const Shape s = e.shape(3);
      call.state = e.reshape(e.slice(call.state, 0, window - 1, window), {s[1], s[2], s[3], s[4]});
    }
  }
  if (window == 0) {
    const LinearAttentionResult r = attend_linearly(e, call);
    e.out(0, r.y);
    e.out(1, r.state);
    return;
  }
  // The last W - 1 tokens are computed one by one, after all others together.
  const int64_t tokens = e.shape(0)[1], apart = std::min(window - 1, tokens - 1);
  e.check(tokens > 0, "state_window requires at least one token");
  std::vector<ir::Value*> parts, states;
  for (int64_t begin = 0, end = tokens - apart; begin < tokens; begin = end++) {
    LinearAttentionCall some = call;
    for (ir::Value** v : {&some.q, &some.k, &some.v, &some.decay, &some.beta})
      if (*v) *v = e.slice(*v, 1, begin, end);
    const LinearAttentionResult r = attend_linearly(e, some);
    call.state = r.state;
    Shape s = e.shape_of(r.state);
    s.insert(s.begin(), 1);
    parts.push_back(r.y);
    states.push_back(e.reshape(r.state, s));
  }
  const auto missing = window - static_cast<int64_t>(states.size());
  if (missing > 0) {
    Shape s = e.shape_of(states[0]);
    s[0] = missing;
    states.insert(states.begin(), e.expand(e.number(states[0]->dtype(), 0), s));
  }
  e.out(0, e.concat(parts, 1));
  e.out(1, e.concat(states, 0));
}

}  // namespace
}  // namespace poprt::ops::microsoft_linear_attention_op

POPRT_EXPANSION_WITH_FACTS(microsoft_linear_attention_op, "com.microsoft", "LinearAttention",
                           expand,
                           .trial = {"T[1,2,4]; T[1,2,4]; T[1,2,4]",
                                     R"(q_num_heads = 2, kv_num_heads = 2, update_rule = "linear")",
                                     2})

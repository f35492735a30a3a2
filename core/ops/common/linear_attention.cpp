#include "ops/common/linear_attention.h"

#include "ir/newest.h"

namespace poprt::ops {

using ir::Value;

Value* repeated_heads(Expansion& e, Value* x, int64_t heads, int64_t times) {
  if (times == 1) return x;
  const Shape s = e.shape_of(x);
  const int64_t size = s[2] / heads;
  Value* wide =
      e.expand(e.reshape(x, {s[0], s[1], heads, 1, size}), {s[0], s[1], heads, times, size});
  return e.reshape(wide, {s[0], s[1], heads * times * size});
}

LinearAttentionResult attend_linearly(Expansion& e, LinearAttentionCall call) {
  const Shape q = e.shape_of(call.q);
  e.check(q.size() == 3 && call.heads > 0 && call.kv_heads > 0 && q[2] % call.heads == 0,
          "query does not divide into heads");
  e.check(call.heads % call.kv_heads == 0 || call.kv_heads % call.heads == 0,
          "the number of heads of queries and that of keys must divide one another");
  if (call.heads < call.kv_heads) {
    call.q = repeated_heads(e, call.q, call.heads, call.kv_heads / call.heads);
    call.heads = call.kv_heads;
  }
  const ir::Node* n = e.add_node("LinearAttention", ir::kNewestDomain,
                                 {call.q, call.k, call.v, call.state, call.decay, call.beta},
                                 {{"q_num_heads", call.heads},
                                  {"kv_num_heads", call.kv_heads},
                                  {"update_rule", call.rule},
                                  {"scale", call.scale}},
                                 2);
  return {n->output(0), n->output(1)};
}

}  // namespace poprt::ops

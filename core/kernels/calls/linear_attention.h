// linear_attention: operands [q, k, v, past?, decay?, beta?, y, state], all f32 or all f64. Heads
// are packed in the last dimension; past and state are [batch, kv_heads, kn, vn]. For each token:
// state *= exp(decay) (for each head or for each key element), v' = beta (v - state^T k) (without
// beta: v), state += k v'^T, y = scale state^T q.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct LinearAttention {
  static constexpr std::string_view kKernel = "linear_attention";

  int64_t batch = 0;
  int64_t tokens = 0;
  int64_t q_heads = 0;  // a multiple of kv_heads
  int64_t kv_heads = 1;
  int64_t kn = 0;  // elements of a head of q and k
  int64_t vn = 0;  // elements of a head of v
  // decay has a factor for each key element instead of one for each head
  bool decay_of_keys = false;
  int64_t beta_heads = 0;  // 1 or kv_heads; 0 without beta
  float scale = 0;         // NaN: 1 / sqrt(kn)

  void fields(Fields& f) {
    f.size("batch", batch);
    f.size("tokens", tokens);
    f.size("q_heads", q_heads);
    f.size("kv_heads", kv_heads, 1);
    f.size("kn", kn);
    f.size("vn", vn);
    f.flag("decay_of_keys", decay_of_keys);
    f.size("beta_heads", beta_heads);
    f.real("scale", scale);
    f.require(q_heads % kv_heads == 0, "heads of q must be a multiple of those of k");
  }
};

}  // namespace poprt::kernels::calls

// attention: operands [q [B, S, Cq], k [B, T, Ck], v [B, T, Cv], mask?, y [B, S, heads * size]],
// all f32 except the mask. y = softmax(scale q k^T + mask) v. The mask is f32 (added to the scores)
// or bool (where it is false, the score becomes mask_value) and broadcasts to [B, heads, S, T] (at
// most 4 dimensions). Column d of head h of q is q_offset + h * size + d, so q, k and v may be one
// tensor.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Attention {
  static constexpr std::string_view kKernel = "attention";

  int64_t heads = 0;
  int64_t size = 0;      // of a head
  int64_t q_offset = 0;  // first column of head 0
  int64_t k_offset = 0;
  int64_t v_offset = 0;
  bool causal = false;  // query i sees keys 0 .. i + T - S
  float scale = 1;
  float mask_value = 0;

  void fields(Fields& f) {
    f.size("heads", heads, 1);
    f.size("size", size, 1);
    f.size("q_offset", q_offset);
    f.size("k_offset", k_offset);
    f.size("v_offset", v_offset);
    f.flag("causal", causal);
    f.real("scale", scale);
    f.real("mask_value", mask_value);
  }
};

}  // namespace poprt::kernels::calls

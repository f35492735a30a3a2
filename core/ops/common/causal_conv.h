// Helpers shared by CausalConvWithState and VarlenCausalConvWithState of com.microsoft.
#pragma once

#include "ops/common/expansion.h"

namespace poprt::ops {

struct CausalConv {
  int64_t channels = 0, taps = 0, dilation = 1;
  int64_t past = 0;  // number of positions before its own that a result depends on
  bool silu = false;
};

// Reads the weight [C,1,k] (input 1) and attributes dilation and activation.
inline CausalConv causal_conv_of(const Expansion& e) {
  constexpr int64_t kMost = int64_t{1} << 20;
  const Shape w = e.shape(1);
  e.check(w.size() == 3 && w[1] == 1 && w[2] >= 1, "weight must be [channels, 1, taps]");
  CausalConv c{w[0], w[2], e.node.int_attr("dilation", 1), 0, false};
  e.check(c.dilation >= 1 && c.dilation < kMost && c.taps < kMost, "dilation is out of range");
  c.past = (c.taps - 1) * c.dilation;
  const std::string activation = e.node.string_attr("activation", "none");
  c.silu = activation == "silu" || activation == "swish";
  if (!c.silu && activation != "none")
    e.fail_unsupported("activation '{}', expected none, silu or swish", activation);
  return c;
}

inline ir::Value* activated(Expansion& e, const CausalConv& c, ir::Value* y) {
  return c.silu ? e.add("Mul", {y, e.add("Sigmoid", {y})}) : y;
}

// The convolution of [B,C,past + L] without padding, with input 2 as bias if it is present,
// followed by the activation.
inline ir::Value* convolved(Expansion& e, const CausalConv& c, ir::Value* x) {
  ir::Value* y = e.newest("Conv", {x, e.in(1), e.in_or_null(2)},
                          {{"group", c.channels},
                           {"kernel_shape", std::vector<int64_t>{c.taps}},
                           {"dilations", std::vector<int64_t>{c.dilation}}});
  return activated(e, c, y);
}

}  // namespace poprt::ops

// Inputs: input [B,C,L], weight [C,1,k], bias? [C], past_state? [B,C,P] with P = (k - 1) dilation.
// Outputs: output, present_state. With channels_last the activations and states are [B,L,..] and
// [B,P,..]. With state_window W the states have an axis of W in front, with the states after the
// last W positions.
#include <algorithm>

#include "ops/common/causal_conv.h"

namespace poprt::ops::microsoft_causal_conv_with_state_op {
namespace {

constexpr int64_t kMostStates = 8;

void refuse_extensions(const Expansion& e) {
  const ir::Node& n = e.node;
  if (const int64_t ndim = n.int_attr("ndim", 1); ndim != 1)
    e.fail_unsupported("ndim {}, expected 1", ndim);
  for (const char* key :
       {"input_channel_offset", "input_channels", "state_length", "state_update_capacity"})
    if (const int64_t v = n.int_attr(key, 0); v != 0)
      e.fail_unsupported("{} {}, expected 0", key, v);
  if (n.int_attr("state_channels_last", -1) != -1)
    e.fail_unsupported("state_channels_last {}, expected -1",
                       n.int_attr("state_channels_last", -1));
}

// Converts [.., L, channels..] to [.., C, L], and back.
struct Layout {
  Expansion& e;
  bool last;
  Shape channels;  // after the axis of positions

  ir::Value* first_of(ir::Value* v, int64_t c) const {
    if (!last) return v;
    const Shape s = e.shape_of(v);
    return e.transpose(e.reshape(v, {s[0], s[1], c}), {0, 2, 1});
  }
  ir::Value* of_first(ir::Value* v) const {
    if (!last) return v;
    const Shape s = e.shape_of(v);
    Shape to = {s[0], s[2]};
    to.insert(to.end(), channels.begin(), channels.end());
    return e.reshape(e.transpose(v, {0, 2, 1}), to);
  }
};

void expand(Expansion& e) {
  refuse_extensions(e);
  const CausalConv conv = causal_conv_of(e);
  const Shape x = e.shape(0);
  Layout layout{e, e.node.int_attr("channels_last", 0) != 0, {}};
  e.check(layout.last ? x.size() >= 3 : x.size() == 3, "input must be [batch, channels, length]");
  if (layout.last) layout.channels.assign(x.begin() + 2, x.end());
  ir::Value* in = e.in(0);
  if (layout.last) e.check(element_count(layout.channels) == conv.channels, "weight does not fit");
  in = layout.first_of(in, conv.channels);
  const int64_t length = e.shape_of(in)[2];
  e.check(e.shape_of(in)[1] == conv.channels, "weight must have a kernel for each channel");
  const int64_t window = e.node.int_attr("state_window", 0);
  e.check(window >= 0 && window <= kMostStates, "state_window must be in 0 to 8");
  const Shape state_shape = {x[0], conv.channels, conv.past};
  ir::Value* past = nullptr;
  if (e.has(3)) {
    past = e.in(3);
    if (window) {
      Shape s = e.shape(3);
      e.check(s.size() == x.size() + 1 && s[0] == window,
              "past_state must have state_window slots");
      past = e.slice(past, 0, window - 1, window);
      s.erase(s.begin());
      past = e.reshape(past, s);
    }
    past = layout.first_of(past, conv.channels);
    e.check(e.shape_of(past) == state_shape, "past_state must have (k - 1) * dilation positions");
  } else {
    past = e.expand(e.number(in->dtype(), 0), state_shape);
  }
  ir::Value* all = e.concat({past, in}, 2);
  e.out(0, layout.of_first(convolved(e, conv, all)));
  const auto state_after = [&](int64_t count) {
    return layout.of_first(e.slice(all, 2, count, count + conv.past));
  };
  if (!window) return e.out(1, state_after(length));
  std::vector<ir::Value*> states;
  Shape slot = e.shape_of(state_after(length));
  slot.insert(slot.begin(), 1);
  const int64_t known = std::min(window, length);
  if (known < window) {
    Shape missing = slot;
    missing[0] = window - known;
    states.push_back(e.expand(e.number(in->dtype(), 0), missing));
  }
  for (int64_t count = length - known + 1; count <= length; count++)
    states.push_back(e.reshape(state_after(count), slot));
  e.out(1, e.concat(states, 0));
}

}  // namespace
}  // namespace poprt::ops::microsoft_causal_conv_with_state_op

POPRT_EXPANSION_WITH_FACTS(microsoft_causal_conv_with_state_op, "com.microsoft",
                           "CausalConvWithState", expand, .trial = {"T[1,4,4]; T[4,1,2]", "", 2})

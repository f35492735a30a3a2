// X, W [directions, input, 4*hidden], R [directions, hidden, 4*hidden], B?, sequence_lens?,
// initial_h?, initial_c?, P?, W_scale, W_zero_point, R_scale, R_zero_point. The weights are
// widened; activations stay floats, which is what the quantisation approximates.
#include "ops/common/expansion.h"

namespace poprt::ops {
namespace {

void expand(Expansion& e) {
  const auto weight = [&](size_t i, size_t scale) {
    const Shape s = e.shape(i), k = e.shape(scale);
    e.check(
        s.size() == 3 && !k.empty() && k[0] == s[0] && (k.size() == 1 || k == Shape{s[0], s[2]}),
        "weights or scales do not fit");
    const Shape wide = {s[0], 1, k.size() == 1 ? 1 : s[2]};
    ir::Value* x = e.add(
        "Sub", {e.cast(e.in(i), DType::f32), e.cast(e.reshape(e.in(scale + 1), wide), DType::f32)});
    return e.swap_last_two(e.add("Mul", {x, e.reshape(e.in(scale), wide)}));
  };
  ir::Value* w = weight(1, 8);
  ir::Value* r = weight(2, 10);
  const ir::Node& n = e.node;
  ir::Node* lstm = e.add_node("LSTM", "",
                              {e.in(0), w, r, e.in_or_null(3), e.in_or_null(4), e.in_or_null(5),
                               e.in_or_null(6), e.in_or_null(7)},
                              {{"hidden_size", n.int_attr("hidden_size", 0)},
                               {"direction", n.string_attr("direction", "forward")},
                               {"input_forget", n.int_attr("input_forget", 0)}},
                              3);
  for (const char* key : {"activations", "activation_alpha", "activation_beta", "clip"})
    if (const ir::Attribute* a = n.find_attr(key)) lstm->attributes[key] = *a;
  for (size_t i = 0; i < 3; i++) e.out(i, lstm->output(i));
}

}  // namespace
}  // namespace poprt::ops

POPRT_EXPANSION(microsoft_dynamic_quantize_lstm_op, "com.microsoft", "DynamicQuantizeLSTM", expand)

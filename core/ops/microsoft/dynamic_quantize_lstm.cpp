// Inputs: X, W [directions, input, 4*hidden], R [directions, hidden, 4*hidden], B?, sequence_lens?,
// initial_h?, initial_c?, P?, W_scale, W_zero_point, R_scale, R_zero_point.
//
// The whole input is quantised once for its product with W; the state of each sequence is quantised
// in each step for its product with R. If R is not constant or not symmetric, it is widened and the
// states stay floats, which their quantisation would only approximate.
#include <algorithm>

#include "ops/common/contrib_quantized.h"

namespace poprt::ops::microsoft_dynamic_quantize_lstm_op {
namespace {

// The scale or zero point of one direction: a scalar, or one element for each column.
ir::Value* parameter(Expansion& e, size_t i, int64_t direction) {
  const Shape s = e.shape(i);
  return e.reshape(e.slice(e.in(i), 0, direction, direction + 1),
                   s.size() == 1 ? Shape{} : Shape{s[1]});
}

// Whether the weights and their parameters are constant, the scales are f32, and signed bytes with
// zero point 0 can represent the weights.
bool is_symmetric(const Expansion& e, size_t weights) {
  const ir::Value *scale = e.in(weights == 1 ? 8 : 10), *zero = e.in(weights == 1 ? 9 : 11);
  if (!e.in(weights)->is_constant() || !scale->is_constant() || !zero->is_constant()) return false;
  const auto zeros = zero->constant().to_int64s();
  const int64_t middle = e.dtype(weights) == DType::u8 ? 128 : 0;
  return scale->dtype() == DType::f32 &&
         std::all_of(zeros.begin(), zeros.end(), [=](int64_t z) { return z == middle; });
}

// R in the layout of the RNN operators, [directions, 4 * hidden, hidden].
Tensor rows_of_gates(const Tensor& r) {
  const int64_t directions = r.shape()[0], hidden = r.shape()[1], gates = r.shape()[2];
  Tensor t = Tensor::zeros(r.dtype(), {directions, gates, hidden});
  const auto* from = static_cast<const std::byte*>(r.data());
  auto* to = static_cast<std::byte*>(t.mutable_data());
  for (int64_t d = 0; d < directions; d++, from += hidden * gates)
    for (int64_t g = 0; g < gates; g++)
      for (int64_t h = 0; h < hidden; h++) *to++ = from[h * gates + g];
  return t;
}

void expand(Expansion& e) {
  for (const size_t i : {1, 2}) {
    const size_t scale = i == 1 ? 8 : 10;
    const Shape s = e.shape(i);
    for (const size_t k : {scale, scale + 1}) {
      const Shape& found = e.shape(k);
      e.check(s.size() == 3 && !found.empty() && found[0] == s[0] &&
                  (found.size() == 1 || found == Shape{s[0], s[2]}) && found == e.shape(scale),
              "weights, scales and zero points have different shapes");
    }
  }
  check_one_type(e, 1, 9);
  check_one_type(e, 2, 11);
  const Shape w = e.shape(1), r = e.shape(2);
  const bool bytes = is_symmetric(e, 2);
  std::vector<ir::Value*> gates, states;
  for (int64_t d = 0; d < w[0]; d++) {
    const auto of = [&](size_t i, const Shape& s) {
      return e.reshape(e.slice(e.in(i), 0, d, d + 1), {s[1], s[2]});
    };
    gates.push_back(e.add_node("DynamicQuantizeMatMul", "com.microsoft",
                               {e.in(0), of(1, w), parameter(e, 8, d), parameter(e, 9, d)}, {}, 1)
                        ->output());
    if (bytes) continue;
    ir::Value* wide =
        e.add("Sub", {e.cast(of(2, r), DType::f32), e.cast(parameter(e, 11, d), DType::f32)});
    wide = e.swap_last_two(e.add("Mul", {wide, parameter(e, 10, d)}));
    states.push_back(e.reshape(wide, {1, r[2], r[1]}));
  }
  const ir::Node& n = e.node;
  ir::Node* lstm =
      e.add_node("ProjectedLSTM", "poprt",
                 {e.concat(gates, 2), nullptr,
                  bytes ? e.constant(rows_of_gates(e.constant(2))) : e.concat(states, 0),
                  e.in_or_null(3), e.in_or_null(4), e.in_or_null(5), e.in_or_null(6),
                  e.in_or_null(7), bytes ? e.in(10) : nullptr},
                 {{"hidden_size", n.int_attr("hidden_size", 0)},
                  {"direction", n.string_attr("direction", "forward")},
                  {"input_forget", n.int_attr("input_forget", 0)}},
                 3);
  for (const char* key : {"activations", "activation_alpha", "activation_beta", "clip"})
    if (const ir::Attribute* a = n.find_attr(key)) lstm->attributes[key] = *a;
  for (size_t i = 0; i < 3; i++) e.out(i, lstm->output(i));
}

}  // namespace
}  // namespace poprt::ops::microsoft_dynamic_quantize_lstm_op

POPRT_EXPANSION_WITH_FACTS(
    microsoft_dynamic_quantize_lstm_op, "com.microsoft", "DynamicQuantizeLSTM", expand,
    .trial = {"T[2,1,4]; u8[1,4,8]; u8[1,2,8]; _; _; _; _; _; f32[1]; u8[1]; f32[1]; u8[1]",
              "hidden_size = 2"})

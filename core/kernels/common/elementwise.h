// Operations of the elementwise kernels. `elementwise` computes programs of them in float, in
// blocks that stay in the L1 cache. `elementwise_generic` computes one of them in the type of the
// operands. The numbers are part of the file format: append only.
#pragma once

#include <cstdint>

namespace poprt::kernels {

// Operands are a, b, c. Comparisons and logical operations return 1 or 0 in a float program.
enum class ElementwiseOp : int64_t {
  copy = 0,
  neg = 1,
  abs = 2,
  sign = 3,
  reciprocal = 4,
  sqrt = 5,
  exp = 6,
  log = 7,
  erf = 8,
  tanh = 9,
  sigmoid = 10,
  relu = 11,
  softplus = 12,
  softsign = 13,
  hard_swish = 14,
  mish = 15,
  gelu_erf = 16,
  gelu_tanh = 17,
  square = 18,
  cube = 19,
  ceil = 20,
  floor = 21,
  round = 22,  // ties to even
  sin = 23,
  cos = 24,
  tan = 25,
  asin = 26,
  acos = 27,
  atan = 28,
  sinh = 29,
  cosh = 30,
  asinh = 31,
  acosh = 32,
  atanh = 33,
  is_nan = 34,
  logical_not = 35,
  to_bool = 36,     // a != 0
  round_f16 = 37,   // to the nearest binary16 value
  round_bf16 = 38,  // to the nearest bfloat16 value
  bit_not = 39,     // integers only

  add = 64,
  sub = 65,
  mul = 66,
  div = 67,  // integers: toward zero, x / 0 = 0
  pow = 68,
  mod = 69,   // sign of the divisor, as in Python; integers: x mod 0 = 0
  fmod = 70,  // sign of the dividend, as in C
  min = 71,   // NaN if an operand is NaN, as for max
  max = 72,
  prelu = 73,        // a < 0 ? a * b : a
  elu = 74,          // a < 0 ? b (e^a - 1) : a
  celu = 75,         // a < 0 ? b (e^(a / b) - 1) : a
  thresholded = 76,  // a > b ? a : 0
  silu = 77,         // a sigmoid(b a)
  logical_and = 78,
  logical_or = 79,
  logical_xor = 80,
  equal = 81,
  greater = 82,
  less = 83,
  greater_equal = 84,
  less_equal = 85,
  bit_and = 86,  // integers only, up to shift_right
  bit_or = 87,
  bit_xor = 88,
  shift_left = 89,
  shift_right = 90,

  clip = 128,          // min(max(a, b), c)
  where = 129,         // a ? b : c
  hard_sigmoid = 130,  // max(0, min(1, b a + c))
  selu = 131,          // c (a > 0 ? a : b (e^a - 1))
  is_inf = 132,        // a = -inf and b, or a = +inf and c
  mul_add = 133,       // a b + c
};

inline constexpr int64_t kElementwiseOpLimit = 134;

// The number of operands, 1 to 3, or 0 for a number that is not an operation.
constexpr int elementwise_arity(int64_t op) {
  if (op >= 0 && op <= 39) return 1;
  if (op >= 64 && op <= 90) return 2;
  if (op >= 128 && op < kElementwiseOpLimit) return 3;
  return 0;
}

constexpr int elementwise_arity(ElementwiseOp op) {
  return elementwise_arity(static_cast<int64_t>(op));
}

constexpr bool elementwise_is_integer_only(ElementwiseOp op) {
  return op == ElementwiseOp::bit_not ||
         (op >= ElementwiseOp::bit_and && op <= ElementwiseOp::shift_right);
}

// Whether the result is bool for operands of any type.
constexpr bool elementwise_gives_bool(ElementwiseOp op) {
  return op == ElementwiseOp::is_nan || op == ElementwiseOp::logical_not ||
         op == ElementwiseOp::to_bool || op == ElementwiseOp::is_inf ||
         (op >= ElementwiseOp::logical_and && op <= ElementwiseOp::less_equal);
}

// Limits of a float program. Operand codes: an input is its index, constant k is -1 - k, the result
// of step j is kElementwiseMaxInputs + j.
inline constexpr int64_t kElementwiseMaxInputs = 16;
inline constexpr int64_t kElementwiseMaxConstants = 64;
inline constexpr int64_t kElementwiseMaxSteps = 64;
inline constexpr int64_t kElementwiseMaxOutputs = 8;

}  // namespace poprt::kernels

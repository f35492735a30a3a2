// Widens weights with two signed 4-bit numbers in each byte. Inputs: input [n, m] of s8, or of u8
// with the same bytes, scale f16 [m] (axis 0) or [n] (axis 1), and a reference tensor, which
// affects the layout only. axis 0: the result is [2n, m]; rows 2i and 2i + 1 are the high and the
// low halves of row i. axis 1: the result is [2m, n], the transpose of the halves of each row.
// `remap` affects the layout only.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_int4_to_half_op {
namespace {

void expand(Expansion& e) {
  const Shape x = e.shape(0), scale = e.shape(1);
  const int64_t axis = e.node.int_attr("axis", 0);
  e.check(axis == 0 || axis == 1, "axis must be 0 or 1");
  e.check(x.size() == 2 && (e.dtype(0) == DType::s8 || e.dtype(0) == DType::u8),
          "input must be a matrix of s8");
  e.check(
      scale == Shape{x[axis == 0 ? 1 : 0]} && e.dtype(1) == DType::f16,
      "scale must be f16 with an element for each column (axis 0) or row (axis 1) of the input");
  ir::Value* bytes = e.cast(e.in(0), DType::f16);  // exact, like all steps before Mul
  if (e.dtype(0) == DType::u8)
    bytes = e.add("Where", {e.add("Greater", {bytes, e.number(DType::f16, 127)}),
                            e.plus(bytes, -256), bytes});
  ir::Value* high = e.add("Floor", {e.scaled(bytes, 1.0 / 16)});
  ir::Value* low = e.add("Sub", {bytes, e.scaled(high, 16)});
  low = e.add("Where", {e.add("Greater", {low, e.number(DType::f16, 7)}), e.plus(low, -16), low});
  const auto pairs = [&](const Shape& half, int64_t at) {
    return e.concat({e.reshape(high, half), e.reshape(low, half)}, at);
  };
  ir::Value* y = axis == 0
                     ? e.reshape(pairs({x[0], 1, x[1]}, 1), {2 * x[0], x[1]})
                     : e.swap_last_two(e.reshape(pairs({x[0], x[1], 1}, 2), {x[0], 2 * x[1]}));
  e.out(0, e.add("Mul", {y, e.in(1)}));
}

}  // namespace
}  // namespace poprt::ops::graphcore_int4_to_half_op

POPRT_EXPANSION_WITH_FACTS(graphcore_int4_to_half_op, "ai.graphcore", "Int4ToHalf", expand,
                           .trial = {"T[4,4]; f16[4]"})

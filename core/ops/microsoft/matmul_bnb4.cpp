// Inputs: A [.., K], B u8 with two numbers of four bits in a byte (the first in the high bits),
// absmax with a factor for each block_size numbers. Each number selects a value of FP4 or NF4; in
// order the values are a matrix [N, K]. The output is A times its transpose; with transB = 0, A is
// [.., N] and the output is A times the matrix.
#include <array>

#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_matmul_bnb4_op {
namespace {

constexpr int64_t kCodes = 16;
constexpr std::array<float, kCodes> kFp4 = {
    0.0F,  5.208333333e-03F,  0.66666667F,  1.0F,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
    -0.0F, -5.208333333e-03F, -0.66666667F, -1.0F, -0.33333333F, -0.5F, -0.16666667F, -0.25F};
// The quantiles of a normal distribution, divided by the greatest.
constexpr std::array<float, kCodes> kNf4 = {-1.0F,
                                            -0.6961928009986877F,
                                            -0.5250730514526367F,
                                            -0.39491748809814453F,
                                            -0.28444138169F,
                                            -0.18477343022823334F,
                                            -0.09105003625154495F,
                                            0.0F,
                                            0.0795802995562F,
                                            0.16093020141124725F,
                                            0.24611230194568634F,
                                            0.33791524171829224F,
                                            0.44070982933044434F,
                                            0.5626170039176941F,
                                            0.7229568362236023F,
                                            1.0F};

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  const int64_t columns = n.int_attr("N", 0), depth = n.int_attr("K", 0),
                block = n.int_attr("block_size", 0), kind = n.int_attr("quant_type", 0);
  constexpr int64_t kMost = int64_t{1} << 31;
  e.check(columns > 0 && depth > 0 && columns < kMost && depth < kMost && block >= 16 &&
              block < kMost && (block & (block - 1)) == 0,
          "N, K or block_size is out of range");
  if (kind != 0 && kind != 1)
    e.fail_unsupported("quant_type {}, expected 0 (FP4) or 1 (NF4)", kind);
  const bool transposed = n.int_attr("transB", 1) != 0;
  const int64_t count = columns * depth, bytes = (count + 1) / 2,
                blocks = (count + block - 1) / block;
  e.check(e.dtype(1) == DType::u8 && element_count(e.shape(1)) == bytes,
          "B must be [(N * K + 1) / 2] u8");
  e.check(element_count(e.shape(2)) == blocks, "absmax must have a factor for each block");
  e.check(!e.shape(0).empty() && e.shape(0).back() == (transposed ? depth : columns),
          "A does not fit N and K");
  ir::Value* packed = e.reshape(e.in(1), {bytes, 1});
  ir::Value* high =
      e.newest("BitShift", {packed, e.number(DType::u8, 4)}, {{"direction", std::string("RIGHT")}});
  ir::Value* low = e.newest("BitwiseAnd", {packed, e.number(DType::u8, kCodes - 1)});
  ir::Value* codes = e.cast(e.reshape(e.concat({high, low}, 1), {2 * bytes}), DType::s32);
  ir::Value* values =
      e.add("Gather", {e.constant(Tensor::of<float>({kCodes}, kind == 0 ? kFp4 : kNf4)), codes});
  ir::Value* factors = e.reshape(e.cast(e.in(2), DType::f32), {blocks, 1});
  factors = e.reshape(e.expand(factors, {blocks, block}), {blocks * block});
  ir::Value* weight = e.add("Mul", {e.slice(values, 0, 0, count), e.slice(factors, 0, 0, count)});
  weight = e.reshape(weight, {columns, depth});
  if (transposed) weight = e.swap_last_two(weight);
  e.out(0, e.add("MatMul", {e.in(0), e.cast(weight, e.dtype(0))}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_matmul_bnb4_op

POPRT_EXPANSION_WITH_FACTS(microsoft_matmul_bnb4_op, "com.microsoft", "MatMulBnb4", expand,
                           .trial = {"T[4,16]; u8[32]; T[4]",
                                     "N = 4, K = 16, block_size = 16, quant_type = 1"})

// Inputs: A [.., K], B u8 with the packed columns of the weights, B_shape [2] = K, N; B and B_shape
// are constant. A column consists of blocks of 32 numbers. A block is an f32 scale, a zero point
// (one byte, if blk_quant_type is 1; otherwise it is 8), and 16 bytes; byte i contains number i in
// the low bits and number 16 + i in the high bits.
#include <cstring>

#include "ops/common/block_quantized.h"

namespace poprt::ops::microsoft_matmul_fpq4_op {
namespace {

constexpr int64_t kBlock = 32, kBits = 4, kMost = int64_t{1} << 31;
constexpr uint8_t kLow = 15, kMiddle = 8;

void expand(Expansion& e) {
  const int64_t type = e.node.int_attr("blk_quant_type", 1);
  if (type != 0 && type != 1) e.fail_unsupported("blk_quant_type {}, expected 0 or 1", type);
  const std::vector<int64_t> shape = e.const_ints(2);
  e.check(shape.size() == 2 && shape[0] > 0 && shape[1] > 0 && shape[0] < kMost && shape[1] < kMost,
          "B_shape must be two positive numbers");
  const int64_t depth = shape[0], columns = shape[1], blocks = (depth + kBlock - 1) / kBlock;
  e.check(!e.shape(0).empty() && e.shape(0).back() == depth, "A must be [.., K]");
  const Tensor& packed = e.constant(1);
  const int64_t bytes = static_cast<int64_t>(sizeof(float)) + type + kBlock / 2;
  e.check(packed.dtype() == DType::u8 && packed.count() == columns * blocks * bytes,
          "the bytes of B do not fit B_shape and blk_quant_type");
  Tensor numbers = Tensor::zeros(DType::u8, {columns, blocks * kBlock / 2});
  Tensor scales = Tensor::zeros(DType::f32, {columns, blocks});
  Tensor zeros = Tensor::zeros(DType::u8, {columns, blocks});
  const auto* from = static_cast<const uint8_t*>(packed.data());
  auto* to = static_cast<uint8_t*>(numbers.mutable_data());
  auto* scale = static_cast<uint8_t*>(scales.mutable_data());
  auto* zero = static_cast<uint8_t*>(zeros.mutable_data());
  for (int64_t b = 0; b < columns * blocks; b++) {
    std::memcpy(scale + b * static_cast<int64_t>(sizeof(float)), from, sizeof(float));
    from += sizeof(float);
    zero[b] = type == 1 ? *from++ & kLow : kMiddle;
    // Two neighbouring numbers share a byte of the result.
    for (int64_t i = 0; i < kBlock / 4; i++) {
      const uint8_t low = from[2 * i], high = from[2 * i + 1];
      to[i] = static_cast<uint8_t>((low & kLow) | (high & kLow) << kBits);
      to[i + kBlock / 4] = static_cast<uint8_t>(low >> kBits | (high >> kBits) << kBits);
    }
    from += kBlock / 2;
    to += kBlock / 2;
  }
  ir::Value* q = e.slice(unpack_bits(e, e.constant(numbers), kBits, blocks * kBlock), 1, 0, depth);
  ir::Value* weights = scale_blocks(e, q, e.constant(scales), e.constant(zeros), 1, kBlock);
  e.out(0, e.add("MatMul", {e.in(0), e.cast(e.swap_last_two(weights), e.dtype(0))}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_matmul_fpq4_op

POPRT_EXPANSION_WITH_FACTS(microsoft_matmul_fpq4_op, "com.microsoft", "MatMulFpQ4", expand,
                           .trial = {
                               "T[1,2]; u8[20] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
                               "0, 0, 0, 0, 0]; s64[2] = [2, 1]",
                               "blk_quant_type = 0"})

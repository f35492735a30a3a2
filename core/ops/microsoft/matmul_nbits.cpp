// Inputs: A [.., K], B u8 [N, blocks, bytes of a block], scales [N, blocks], zero_points? (packed
// u8, or of the type of A), g_idx?, bias? [N]. The output is A times the transpose of the widened
// B.
#include "ops/common/block_quantized.h"

namespace poprt::ops::microsoft_matmul_nbits_op {
namespace {

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  const int64_t columns = n.int_attr("N", 0), depth = n.int_attr("K", 0),
                bits = n.int_attr("bits", 4), block = n.int_attr("block_size", 0);
  if (bits != 2 && bits != 4 && bits != 8) e.fail_unsupported("bits {}, expected 2, 4 or 8", bits);
  if (n.int_attr("weight_prepacked", 0)) e.fail_unsupported("weight_prepacked");
  e.check(columns > 0 && depth > 0 && columns < (int64_t{1} << 31) && depth < (int64_t{1} << 31) &&
              block >= 16 && (block & (block - 1)) == 0 && block < (int64_t{1} << 31),
          "N, K or block_size is out of range");
  const int64_t blocks = (depth + block - 1) / block;
  const Shape b = e.shape(1);
  e.check(b == Shape{columns, blocks, block * bits / 8}, "B must be [N, blocks, bytes of a block]");
  e.check(element_count(e.shape(2)) == columns * blocks, "scales must be [N, blocks]");
  e.check(!e.shape(0).empty() && e.shape(0).back() == depth, "A must be [.., K]");
  // The block of each row, if g_idx assigns rows to other blocks than their own.
  std::vector<int64_t> block_of;
  if (e.has(4) && element_count(e.shape(4)) > 0) {
    block_of = e.const_ints(4);
    e.check(static_cast<int64_t>(block_of.size()) >= depth, "g_idx must have K entries");
    block_of.resize(static_cast<size_t>(depth));
    bool natural = true;
    for (size_t i = 0; i < block_of.size(); i++) {
      e.check(block_of[i] >= 0 && block_of[i] < blocks,
              "g_idx contains a block that does not exist");
      natural &= block_of[i] == static_cast<int64_t>(i) / block;
    }
    if (natural) block_of.clear();
  }
  ir::Value* q = e.slice(unpack_bits(e, e.reshape(e.in(1), {columns, blocks * block * bits / 8}),
                                     bits, blocks * block),
                         1, 0, depth);
  ir::Value* scale = e.reshape(e.in(2), {columns, blocks});
  ir::Value* zero;
  if (!e.has(3))
    zero = e.expand(e.number(DType::u8, static_cast<double>(1 << (bits - 1))), {columns, blocks});
  else if (e.dtype(3) == DType::u8)
    zero = unpack_bits(e, e.reshape(e.in(3), {columns, (blocks * bits + 7) / 8}), bits, blocks);
  else
    zero = e.reshape(e.in(3), {columns, blocks});
  const auto by_row = [&](ir::Value* v) {
    return block_of.empty() ? v : e.add("Gather", {v, e.ints(block_of)}, {{"axis", int64_t{1}}});
  };
  ir::Value* weight = e.swap_last_two(
      scale_blocks(e, q, by_row(scale), by_row(zero), 1, block_of.empty() ? block : 1));
  ir::Value* y = e.add("MatMul", {e.in(0), e.cast(weight, e.dtype(0))});
  if (e.has(5)) y = e.add("Add", {y, e.in(5)});
  e.out(0, y);
}

}  // namespace
}  // namespace poprt::ops::microsoft_matmul_nbits_op

POPRT_EXPANSION_WITH_FACTS(microsoft_matmul_nbits_op, "com.microsoft", "MatMulNBits", expand,
                           .trial = {"T[4,16]; u8[4,1,8]; T[4]",
                                     "N = 4, K = 16, bits = 4, block_size = 16"})

#include "ops/common/block_quantized.h"

namespace poprt::ops {

using ir::Value;

Value* packed_numbers(Expansion& e, Value* bytes, int64_t bits) {
  if (bits == 8) return bytes;
  const DType to = bits == 4 ? DType::u4 : DType::u2;
  return e.add_node("Packed", "poprt", {bytes}, {{"to", static_cast<int64_t>(to)}}, 1)->output();
}

Value* unpack_bits(Expansion& e, Value* packed, int64_t bits, int64_t count) {
  const Shape shape = e.shape_of(packed);
  e.check(!shape.empty() && packed->dtype() == DType::u8, "packed numbers must be u8");
  const int64_t per_byte = 8 / bits;
  e.check(shape.back() == (count + per_byte - 1) / per_byte,
          "the bytes of packed numbers do not fit their count");
  if (per_byte == 1) return packed;
  return e.slice(e.cast(packed_numbers(e, packed, bits), DType::u8), -1, 0, count);
}

Value* scale_blocks(Expansion& e, Value* q, Value* scale, Value* zero, int64_t axis,
                    int64_t block) {
  const Shape shape = e.shape_of(q), s = e.shape_of(scale);
  const auto a = static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(shape.size())));
  e.check(block > 0, "block_size must be positive");
  e.check(s.size() == shape.size() && s[a] == (shape[a] + block - 1) / block &&
              (!zero || e.shape_of(zero) == s),
          "scales or zero points do not fit the blocks");
  return e.newest("DequantizeLinear", {q, scale, zero},
                  {{"axis", static_cast<int64_t>(a)}, {"block_size", block}});
}

}  // namespace poprt::ops

#include "ops/common/block_quantized.h"

namespace poprt::ops {

using ir::Value;

Value* unpack_bits(Expansion& e, Value* packed, int64_t bits, int64_t count) {
  const Shape shape = e.shape_of(packed);
  e.check(!shape.empty() && packed->dtype() == DType::u8, "packed numbers must be u8");
  const int64_t per_byte = 8 / bits;
  e.check(shape.back() == (count + per_byte - 1) / per_byte,
          "the bytes of packed numbers do not fit their count");
  if (per_byte == 1) return packed;
  Shape column = shape;
  column.push_back(1);
  std::vector<Value*> parts;
  for (int64_t i = 0; i < per_byte; i++) {
    Value* part = packed;
    if (i > 0)
      part = e.newest("BitShift", {part, e.number(DType::u8, static_cast<double>(i * bits))},
                      {{"direction", "RIGHT"}});
    part =
        e.newest("BitwiseAnd", {part, e.number(DType::u8, static_cast<double>((1 << bits) - 1))});
    parts.push_back(e.reshape(part, column));
  }
  Shape flat = shape;
  flat.back() *= per_byte;
  Value* all = e.reshape(e.concat(parts, static_cast<int64_t>(shape.size())), flat);
  return e.slice(all, -1, 0, count);
}

Value* scale_blocks(Expansion& e, Value* q, Value* scale, Value* zero, int64_t axis,
                    int64_t block) {
  const Shape shape = e.shape_of(q);
  const auto rank = static_cast<int64_t>(shape.size());
  const auto a = static_cast<size_t>(normalize_axis(axis, rank));
  e.check(block > 0, "block_size must be positive");
  std::vector<int64_t> block_of;
  for (int64_t i = 0; i < shape[a]; i++) block_of.push_back(i / block);
  const auto spread = [&](Value* v) {
    const Shape s = e.shape_of(v);
    e.check(s.size() == shape.size() && s[a] == (shape[a] + block - 1) / block,
            "scales or zero points do not fit the blocks");
    return e.add("Gather", {v, e.ints(block_of)}, {{"axis", static_cast<int64_t>(a)}});
  };
  const DType type = scale->dtype();
  Value* x = e.cast(q, type);
  if (zero) x = e.add("Sub", {x, e.cast(spread(zero), type)});
  return e.add("Mul", {x, spread(scale)});
}

}  // namespace poprt::ops

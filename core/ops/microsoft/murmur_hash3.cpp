// The 32-bit MurmurHash3 of the bytes of each element, a number of 32 or 64 bits. Text is not
// supported.
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_murmur_hash3_op {
namespace {

constexpr int64_t kWordBits = 32;

class Murmur {
 public:
  explicit Murmur(Expansion& expansion) : e_(expansion) {}

  void run() {
    const DType type = e_.dtype(0);
    const int64_t bits = dtype_bits(type);
    if ((bits != kWordBits && bits != 2 * kWordBits) || type == DType::c64)
      e_.fail_unsupported("element type {}, expected a number of 32 or 64 bits", dtype_name(type));
    const Shape x = e_.shape(0);
    const int64_t words = bits / kWordBits;
    ir::Value* all = e_.reshape(as_words(e_.in(0), words), {element_count(x), words});
    ir::Value* h = word(static_cast<uint32_t>(e_.node.int_attr("seed", 0)));
    for (int64_t i = 0; i < words; i++) {
      ir::Value* k = times(e_.slice(all, 1, i, i + 1), 0xcc9e2d51U);
      k = times(rotated_left(k, 15), 0x1b873593U);
      h = rotated_left(bit_xor(h, k), 13);
      h = e_.add("Add", {times(h, 5), word(0xe6546b64U)});
    }
    h = bit_xor(h, word(static_cast<uint32_t>(words * kWordBits / 8)));
    h = times(bit_xor(h, shifted(h, 16, false)), 0x85ebca6bU);
    h = times(bit_xor(h, shifted(h, 13, false)), 0xc2b2ae35U);
    h = e_.reshape(bit_xor(h, shifted(h, 16, false)), x);
    const bool positive = e_.node.int_attr("positive", 1) != 0;
    e_.out(0, positive ? h : e_.newest("BitCast", {h}, {{"to", int64_t{6}}}));
  }

 private:
  ir::Value* word(uint32_t v) { return e_.constant(Tensor::scalar(v)); }
  ir::Value* times(ir::Value* v, uint32_t factor) { return e_.add("Mul", {v, word(factor)}); }
  ir::Value* bit_xor(ir::Value* a, ir::Value* b) { return e_.newest("BitwiseXor", {a, b}); }
  ir::Value* shifted(ir::Value* v, uint32_t bits, bool left) {
    return e_.newest("BitShift", {v, word(bits)},
                     {{"direction", std::string(left ? "LEFT" : "RIGHT")}});
  }
  ir::Value* rotated_left(ir::Value* v, uint32_t bits) {
    return e_.newest("BitwiseOr", {shifted(v, bits, true), shifted(v, kWordBits - bits, false)});
  }
  // [.., words], the low word first.
  ir::Value* as_words(ir::Value* v, int64_t words) {
    const auto cast_bits = [&](ir::Value* x, int64_t to) {
      return e_.newest("BitCast", {x}, {{"to", to}});
    };
    constexpr int64_t kU32 = 12, kU64 = 13;  // TensorProto
    if (words == 1) return v->dtype() == DType::u32 ? v : cast_bits(v, kU32);
    ir::Value* wide = v->dtype() == DType::u64 ? v : cast_bits(v, kU64);
    Shape one = e_.shape_of(v);
    one.push_back(1);
    wide = e_.reshape(wide, one);
    ir::Value* high = e_.newest("BitShift", {wide, e_.constant(Tensor::scalar(uint64_t{32}))},
                                {{"direction", std::string("RIGHT")}});
    ir::Value* low =
        e_.newest("BitwiseAnd", {wide, e_.constant(Tensor::scalar(uint64_t{0xffffffff}))});
    return e_.cast(e_.concat({low, high}, -1), DType::u32);
  }

  Expansion& e_;
};

void expand(Expansion& e) { Murmur(e).run(); }

}  // namespace
}  // namespace poprt::ops::microsoft_murmur_hash3_op

POPRT_EXPANSION(microsoft_murmur_hash3_op, "com.microsoft", "MurmurHash3", expand)

// Inputs: data u8 [rows, bytes of a row], indices. The output [.., K] contains the rows that
// indices select (row 0 for an index outside the table), converted to output_dtype. A row consists
// of blocks of the GGML format that packed_type selects.
#include <array>

#include "base/onnx_dtype.h"
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_gather_packed_op {
namespace {

constexpr int64_t kLowBits = 15, kNibble = 4;
constexpr int64_t kWide = 256, kNarrow = 32;  // numbers in a block
// The values of the codes of the IQ4 formats.
constexpr std::array<float, 16> kCodes = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

// Converts blocks u8 [n, bytes] to numbers f32 [n, count].
class Blocks {
 public:
  Blocks(Expansion& expansion, ir::Value* bytes) : e_(expansion), bytes_(bytes) {}

  ir::Value* f32() { return e_.cast(word(0, 4, DType::u32, DType::f32), DType::f32); }
  ir::Value* f16() { return half(0); }
  ir::Value* bf16() { return e_.cast(word(0, 2, DType::u16, DType::bf16), DType::f32); }

  ir::Value* q4_0() {
    ir::Value* q = bytes(2, 16);
    return times(half(0), e_.plus(e_.concat({real(low(q)), real(high(q))}, 1), -8));
  }

  ir::Value* q5_0() {
    ir::Value* q = bytes(6, 16);
    // The fifth bits of the 32 numbers, in order.
    std::vector<ir::Value*> fifth;
    for (int64_t i = 0; i < 4; i++)
      for (int64_t k = 0; k < 8; k++) fifth.push_back(bits(bytes(2 + i, 1), k, 1));
    ir::Value* all = e_.concat({real(low(q)), real(high(q))}, 1);
    all = e_.add("Add", {all, e_.scaled(real(e_.concat(fifth, 1)), 16)});
    return times(half(0), e_.plus(all, -16));
  }

  ir::Value* q8_0() { return times(half(0), real(signed_bytes(2, 32))); }

  ir::Value* q5_k() {
    ir::Value* fifth = bytes(16, 32);
    std::vector<ir::Value*> parts;
    for (int64_t j = 0; j < 8; j++) {
      ir::Value* pair = bytes(48 + 32 * (j / 2), 32);
      ir::Value* q = e_.add(
          "Add", {real(j % 2 ? high(pair) : low(pair)), e_.scaled(real(bits(fifth, j, 1)), 16)});
      ir::Value *scale = nullptr, *least = nullptr;
      if (j < 4) {
        scale = real(bits(bytes(4 + j, 1), 0, 63));
        least = real(bits(bytes(8 + j, 1), 0, 63));
      } else {
        ir::Value* both = bytes(8 + j, 1);
        scale = joined(low(both), bits(bytes(j, 1), 6, 3));
        least = joined(high(both), bits(bytes(4 + j, 1), 6, 3));
      }
      parts.push_back(e_.add("Sub", {times(times(half(0), scale), q), times(half(2), least)}));
    }
    return e_.concat(parts, 1);
  }

  ir::Value* q6_k() {
    std::vector<ir::Value*> parts;
    for (int64_t n = 0; n < 2; n++)
      for (int64_t i = 0; i < 4; i++) {
        ir::Value* q = bytes(64 * n + 32 * (i % 2), 32);
        q = joined(i < 2 ? low(q) : high(q), bits(bytes(128 + 32 * n, 32), 2 * i, 3));
        q = e_.reshape(e_.plus(q, -32), {rows(), 2, 16});
        ir::Value* scale = e_.reshape(real(signed_bytes(192 + 8 * n + 2 * i, 2)), {rows(), 2, 1});
        parts.push_back(e_.reshape(times(scale, q), {rows(), 32}));
      }
    return times(half(208), e_.concat(parts, 1));
  }

  ir::Value* iq4_nl() {
    ir::Value* q = bytes(2, 16);
    return times(half(0), coded(q));
  }

  ir::Value* iq4_xs() {
    std::vector<ir::Value*> parts;
    for (int64_t i = 0; i < 8; i++) {
      ir::Value* four = bytes(4 + i / 2, 1);
      ir::Value* two = bits(bytes(2 + i / 4, 1), 2 * (i % 4), 3);
      ir::Value* scale = e_.plus(joined(i % 2 ? high(four) : low(four), two), -32);
      parts.push_back(times(times(half(0), scale), coded(bytes(8 + 16 * i, 16))));
    }
    return e_.concat(parts, 1);
  }

 private:
  int64_t rows() const { return e_.shape_of(bytes_)[0]; }
  ir::Value* bytes(int64_t begin, int64_t count) {
    return e_.slice(bytes_, 1, begin, begin + count);
  }
  ir::Value* real(ir::Value* v) { return e_.cast(v, DType::f32); }
  ir::Value* times(ir::Value* a, ir::Value* b) { return e_.add("Mul", {a, b}); }
  ir::Value* bits(ir::Value* v, int64_t from, int64_t mask) {
    const auto number = [&](int64_t n) { return e_.number(DType::u8, static_cast<double>(n)); };
    if (from) v = e_.newest("BitShift", {v, number(from)}, {{"direction", std::string("RIGHT")}});
    return e_.newest("BitwiseAnd", {v, number(mask)});
  }
  ir::Value* low(ir::Value* v) { return bits(v, 0, kLowBits); }
  ir::Value* high(ir::Value* v) { return bits(v, kNibble, kLowBits); }
  // low + 16 high, f32.
  ir::Value* joined(ir::Value* low_part, ir::Value* high_part) {
    return e_.add("Add", {real(low_part), e_.scaled(real(high_part), 16)});
  }
  ir::Value* coded(ir::Value* q) {
    ir::Value* codes = e_.cast(e_.concat({low(q), high(q)}, 1), DType::s32);
    return e_.add("Gather", {e_.constant(Tensor::of<float>({16}, kCodes)), codes});
  }
  ir::Value* reinterpreted(ir::Value* v, DType to) {
    return e_.newest("BitCast", {v}, {{"to", int64_t{onnx_from_dtype(to).value()}}});
  }
  ir::Value* signed_bytes(int64_t begin, int64_t count) {
    return reinterpreted(bytes(begin, count), DType::s8);
  }
  // The little-endian number of `count` bytes at `begin`, [n, 1].
  ir::Value* word(int64_t begin, int64_t count, DType unsigned_type, DType to) {
    ir::Value* sum = nullptr;
    for (int64_t i = 0; i < count; i++) {
      ir::Value* b = e_.cast(bytes(begin + i, 1), unsigned_type);
      b = e_.scaled(b, static_cast<double>(int64_t{1} << 8 * i));
      sum = sum ? e_.add("Add", {sum, b}) : b;
    }
    return reinterpreted(sum, to);
  }
  ir::Value* half(int64_t begin) {
    return e_.cast(word(begin, 2, DType::u16, DType::f16), DType::f32);
  }

  Expansion& e_;
  ir::Value* bytes_;
};

struct Format {
  int64_t type, bytes, count;
  ir::Value* (Blocks::*numbers)();
};
constexpr std::array<Format, 10> kFormats = {{{0, 4, 1, &Blocks::f32},
                                              {1, 2, 1, &Blocks::f16},
                                              {2, 18, kNarrow, &Blocks::q4_0},
                                              {6, 22, kNarrow, &Blocks::q5_0},
                                              {8, 34, kNarrow, &Blocks::q8_0},
                                              {13, 176, kWide, &Blocks::q5_k},
                                              {14, 210, kWide, &Blocks::q6_k},
                                              {20, 18, kNarrow, &Blocks::iq4_nl},
                                              {23, 136, kWide, &Blocks::iq4_xs},
                                              {30, 2, 1, &Blocks::bf16}}};

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  const int64_t type = n.int_attr("packed_type", -1), size = n.int_attr("K", 0);
  const Format* format = nullptr;
  for (const Format& f : kFormats)
    if (f.type == type) format = &f;
  if (!format)
    e.fail_unsupported(
        "packed_type {}, expected 0 (F32), 1 (F16), 2 (Q4_0), 6 (Q5_0), 8 (Q8_0), 13 (Q5_K), 14 "
        "(Q6_K), 20 (IQ4_NL), 23 (IQ4_XS) or 30 (BF16)",
        type);
  constexpr int64_t kBf16 = 16;  // TensorProto
  const auto to = dtype_from_onnx(n.int_attr("output_dtype", kBf16));
  if (!to || (*to != DType::f32 && *to != DType::f16 && *to != DType::bf16))
    e.fail_unsupported("output_dtype {}, expected f32, f16 or bf16",
                       n.int_attr("output_dtype", kBf16));
  const Shape data = e.shape(0);
  e.check(size > 0 && size < (int64_t{1} << 31) && size % format->count == 0,
          "K must be a positive multiple of the numbers in a block");
  const int64_t blocks = size / format->count;
  e.check(e.dtype(0) == DType::u8 && data.size() == 2 && data[0] > 0 &&
              data[1] == blocks * format->bytes,
          "data must be u8 [rows, bytes of a row]");
  ir::Value* index = e.cast(e.in(1), DType::s64);
  const auto number = [&](int64_t v) { return e.number(DType::s64, static_cast<double>(v)); };
  ir::Value* outside = e.add(
      "Or", {e.add("Less", {index, number(0)}), e.add("Greater", {index, number(data[0] - 1)})});
  index = e.add("Where", {outside, number(0), index});
  Shape out = e.shape(1);
  const int64_t selected = element_count(out);
  ir::Value* rows = e.add("Gather", {e.in(0), e.reshape(index, {selected})});
  Blocks all(e, e.reshape(rows, {selected * blocks, format->bytes}));
  out.push_back(size);
  e.out(0, e.cast(e.reshape((all.*format->numbers)(), out), *to));
}

}  // namespace
}  // namespace poprt::ops::microsoft_gather_packed_op

POPRT_EXPANSION_WITH_FACTS(microsoft_gather_packed_op, "com.microsoft", "GatherPacked", expand,
                           .trial = {"T[4,34]; s64[2] = [0, 1]",
                                     "K = 32, packed_type = 8, output_dtype = 1"})

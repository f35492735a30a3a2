// cast (calls/cast.h).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "base/float_odd.h"
#include "base/half.h"
#include "base/quarter.h"
#include "kernels/calls/cast.h"
#include "kernels/common/convert_block.h"
#include "kernels/isa/cast.h"
#include "kernels/kernel.h"

namespace poprt::kernels::cast_kernel {
namespace {

// A multiple of four, so that no two tasks share a byte of 2-bit or 4-bit elements.
constexpr int64_t kTaskElements = 8192;

// An element during conversion: integers exactly, floats as double.
struct Value {
  bool is_float;
  double real;
  int64_t whole;       // two's complement bits of integers
  bool is_unsigned64;  // `whole` contains a uint64
};

struct Params {
  DType from, to;
  int64_t count;
  bool saturate;
  PowerRounding rounding;
  isa::CastRow row;  // for the pairs that are vectorised
  // both are f32 or smaller floats of at least a byte, which f32 represents exactly
  bool by_floats;
  int64_t from_bytes, to_bytes;
};

template <class T>
T at(const void* data, int64_t i) {
  T v;
  std::memcpy(&v, static_cast<const std::byte*>(data) + static_cast<size_t>(i) * sizeof(T),
              sizeof(T));
  return v;
}
template <class T>
void put(void* data, int64_t i, T v) {
  std::memcpy(static_cast<std::byte*>(data) + static_cast<size_t>(i) * sizeof(T), &v, sizeof(T));
}

int packed(const void* data, int64_t i, int bits) {
  const int per_byte = 8 / bits;
  const auto byte = static_cast<const uint8_t*>(data)[i / per_byte];
  return (byte >> (i % per_byte * bits)) & ((1 << bits) - 1);
}
void put_packed(void* data, int64_t i, int bits, int code) {
  const int per_byte = 8 / bits;
  uint8_t& byte = static_cast<uint8_t*>(data)[i / per_byte];
  const int shift = static_cast<int>(i % per_byte) * bits;
  const int mask = ((1 << bits) - 1) << shift;
  byte = static_cast<uint8_t>((byte & ~mask) | ((code << shift) & mask));
}

Value integer(int64_t v) { return {false, static_cast<double>(v), v, false}; }
Value real(double v) { return {true, v, 0, false}; }

Value read(DType t, const void* data, int64_t i) {
  switch (t) {
    case DType::f32: return real(static_cast<double>(at<float>(data, i)));
    case DType::f64: return real(at<double>(data, i));
    case DType::f16: return real(static_cast<double>(to_float(at<f16_t>(data, i))));
    case DType::bf16: return real(static_cast<double>(to_float(at<bf16_t>(data, i))));
    case DType::s8: return integer(at<int8_t>(data, i));
    case DType::u8: return integer(at<uint8_t>(data, i));
    case DType::s16: return integer(at<int16_t>(data, i));
    case DType::u16: return integer(at<uint16_t>(data, i));
    case DType::s32: return integer(at<int32_t>(data, i));
    case DType::u32: return integer(at<uint32_t>(data, i));
    case DType::s64: return integer(at<int64_t>(data, i));
    case DType::u64: {
      const auto v = at<uint64_t>(data, i);
      return {false, static_cast<double>(v), static_cast<int64_t>(v), true};
    }
    case DType::boolean: return integer(at<uint8_t>(data, i) != 0);
    case DType::u4: return integer(packed(data, i, 4));
    case DType::s4: {
      const int v = packed(data, i, 4);
      return integer(v > 7 ? v - 16 : v);
    }
    case DType::u2: return integer(packed(data, i, 2));
    case DType::s2: {
      const int v = packed(data, i, 2);
      return integer(v > 1 ? v - 4 : v);
    }
    case DType::f4e2m1:
      return real(
          static_cast<double>(quarter_to_float(t, static_cast<uint8_t>(packed(data, i, 4)))));
    default: return real(static_cast<double>(quarter_to_float(t, at<uint8_t>(data, i))));
  }
}

int64_t truncate64(double v) {
  if (!(v >= -0x1p63 && v < 0x1p63)) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(v);
}
int64_t truncate32(double v) {
  if (!(v > -0x1p31 - 1 && v < 0x1p31)) return std::numeric_limits<int32_t>::min();
  return static_cast<int64_t>(v);
}
uint64_t truncate_u64(double v) {
  if (v >= 0x1p63 && v < 0x1p64) return static_cast<uint64_t>(v);
  return static_cast<uint64_t>(truncate64(v));
}

// Converts an integer to a float with a single rounding, not through double.
template <class T>
T floating(const Value& v) {
  if (v.is_float) return static_cast<T>(v.real);
  return v.is_unsigned64 ? static_cast<T>(static_cast<uint64_t>(v.whole)) : static_cast<T>(v.whole);
}

// Rounds an integer to odd: the last bit is set if lower ones were lost.
float odd_of_integer(const Value& v) {
  const bool negative = !v.is_unsigned64 && v.whole < 0;
  const auto bits = static_cast<uint64_t>(v.whole);
  const uint64_t magnitude = negative ? 0 - bits : bits;
  const auto width = static_cast<int>(std::bit_width(magnitude));
  const int lost = std::max(0, width - std::numeric_limits<float>::digits);
  uint64_t kept = magnitude >> lost;
  if (kept << lost != magnitude) kept |= 1;
  const float f = std::ldexp(static_cast<float>(kept), lost);
  return negative ? -f : f;
}

// Rounds to odd, which keeps a second rounding to a float of 16 bits or fewer correct.
float to_float_for_narrowing(const Value& v) {
  return v.is_float ? to_float_odd(v.real) : odd_of_integer(v);
}

void write(DType t, void* data, int64_t i, const Value& v, const Params& p) {
  const auto small = [&] { return v.is_float ? truncate32(v.real) : v.whole; };
  switch (t) {
    case DType::f32: return put(data, i, floating<float>(v));
    case DType::f64: return put(data, i, floating<double>(v));
    case DType::f16: return put(data, i, to_f16(to_float_for_narrowing(v)));
    case DType::bf16: return put(data, i, to_bf16(to_float_for_narrowing(v)));
    case DType::s8: return put(data, i, static_cast<int8_t>(small()));
    case DType::u8: return put(data, i, static_cast<uint8_t>(small()));
    case DType::s16: return put(data, i, static_cast<int16_t>(small()));
    case DType::u16: return put(data, i, static_cast<uint16_t>(small()));
    case DType::s32: return put(data, i, static_cast<int32_t>(small()));
    case DType::u32:
      return put(data, i, static_cast<uint32_t>(v.is_float ? truncate64(v.real) : v.whole));
    case DType::s64: return put(data, i, v.is_float ? truncate64(v.real) : v.whole);
    case DType::u64:
      return put(data, i, v.is_float ? truncate_u64(v.real) : static_cast<uint64_t>(v.whole));
    case DType::boolean:
      return put(data, i, static_cast<uint8_t>(v.is_float ? v.real != 0 : v.whole != 0));
    case DType::s4:
    case DType::u4: return put_packed(data, i, 4, static_cast<int>(small() & 15));
    case DType::s2:
    case DType::u2: return put_packed(data, i, 2, static_cast<int>(small() & 3));
    case DType::f4e2m1:
      return put_packed(data, i, 4, float_to_quarter(t, to_float_for_narrowing(v), true));
    case DType::f8e8m0:
      // The nearest f32 is rounded, as ONNX Runtime does. An odd one would round up.
      return put(data, i, float_to_e8m0(floating<float>(v), p.rounding, p.saturate));
    default: return put(data, i, float_to_quarter(t, to_float_for_narrowing(v), p.saturate));
  }
}

std::optional<isa::Number> number_of(DType t) {
  using isa::Number;
  switch (t) {
    case DType::f32: return Number::f32;
    case DType::f64: return Number::f64;
    case DType::f16: return Number::f16;
    case DType::bf16: return Number::bf16;
    case DType::s8: return Number::s8;
    case DType::u8: return Number::u8;
    case DType::s16: return Number::s16;
    case DType::u16: return Number::u16;
    case DType::s32: return Number::s32;
    case DType::u32: return Number::u32;
    case DType::s64: return Number::s64;
    case DType::u64: return Number::u64;
    case DType::boolean: return Number::boolean;
    default: return std::nullopt;
  }
}

isa::CastRow find_row(DType from, DType to) {
  const auto f = number_of(from), t = number_of(to);
  return f && t ? POPRT_SELECT_ISA(cast).find(*f, *t) : nullptr;
}

// f8e8m0 is excluded because it has special rounding rules.
bool is_small_float(DType t) {
  return is_float(t) && t != DType::f64 && dtype_bits(t) >= 8 && t != DType::f8e8m0;
}

void convert_by_floats(const Params& p, void* const* data, int64_t first, int64_t last) {
  constexpr int64_t kBlock = 512;
  float block[kBlock];
  for (int64_t i = first; i < last; i += kBlock) {
    const int64_t n = std::min(kBlock, last - i);
    to_floats(p.from, data[0], i, n, block);
    from_floats(p.to, data[1], i, n, block, p.saturate);
  }
}

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t first = begin * kTaskElements, last = std::min(end * kTaskElements, p.count);
  if (p.row)
    return p.row(static_cast<std::byte*>(data[1]) + first * p.to_bytes,
                 static_cast<const std::byte*>(data[0]) + first * p.from_bytes, last - first);
  if (p.by_floats) return convert_by_floats(p, data, first, last);
  for (int64_t i = first; i < last; i++) write(p.to, data[1], i, read(p.from, data[0], i), p);
}

bool is_numeric(DType t) { return dtype_bits(t) > 0 && t != DType::c64 && t != DType::c128; }

Plan prepare(const Call& call) {
  expect(call.operands.size() == 2 && call.operands[0].present && call.operands[1].present, "cast",
         "expected operands from, to");
  const auto c = calls::decode<calls::Cast>(call);
  const Operand &from = call.operands[0], &to = call.operands[1];
  expect(is_numeric(from.dtype) && is_numeric(to.dtype), "cast", "an operand is not numeric");
  const int64_t count = element_count(from.shape);
  expect(count == element_count(to.shape), "cast", "element counts differ");
  Plan plan;
  plan.run = run;
  const auto row = find_row(from.dtype, to.dtype);
  const bool by_floats = is_small_float(from.dtype) && is_small_float(to.dtype);
  plan.params = std::make_shared<Params>(
      Params{from.dtype, to.dtype, count, c.saturate, c.rounding.value_or(PowerRounding::up), row,
             by_floats, dtype_bits(from.dtype) / 8, dtype_bits(to.dtype) / 8});
  plan.tasks = std::max<int64_t>(1, (count + kTaskElements - 1) / kTaskElements);
  plan.work = static_cast<double>(count) * (row ? 0.15 : by_floats ? 0.6 : 4.0);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"cast", prepare};

}  // namespace poprt::kernels::cast_kernel

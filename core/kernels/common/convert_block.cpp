#include "kernels/common/convert_block.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "base/first_use.h"
#include "base/quarter.h"
#include "kernels/isa/cast.h"
#include "kernels/isa/quarters.h"

namespace poprt::kernels {
namespace {

template <class T>
void widen(const void* data, int64_t first, int64_t count, float* out) {
  const T* from = static_cast<const T*>(data) + first;
  for (int64_t i = 0; i < count; i++) out[i] = static_cast<float>(from[i]);
}

void widen_half(isa::Number type, const void* data, int64_t first, int64_t count, float* out) {
  POPRT_SELECT_ISA(cast).find(type, isa::Number::f32)(
      out, static_cast<const uint16_t*>(data) + first, count);
}
void narrow_half(isa::Number type, void* data, int64_t first, int64_t count, const float* in) {
  POPRT_SELECT_ISA(cast).find(isa::Number::f32, type)(static_cast<uint16_t*>(data) + first, in,
                                                      count);
}

// Adding 1.5 * 2^23 rounds to nearest even and leaves the integer in the low bits.
template <class T>
void narrow(void* data, int64_t first, int64_t count, const float* in) {
  constexpr auto kLow = static_cast<float>(std::numeric_limits<T>::min());
  constexpr auto kHigh = static_cast<float>(std::numeric_limits<T>::max());
  T* to = static_cast<T*>(data) + first;
  for (int64_t i = 0; i < count; i++) {
    float v = in[i] > kLow ? in[i] : kLow;
    v = v < kHigh ? v : kHigh;
    v = in[i] == in[i] ? v : 0.0f;
    to[i] = static_cast<T>(std::bit_cast<int32_t>(v + 12582912.0f) - 0x4b400000);
  }
}

bool is_packed(DType t) { return dtype_bits(t) < 8; }

int code_at(const void* data, int64_t i, int bits) {
  const int per_byte = 8 / bits;
  return static_cast<const uint8_t*>(data)[i / per_byte] >> (i % per_byte * bits) &
         ((1 << bits) - 1);
}

void put_code(void* data, int64_t i, int bits, int code) {
  const int per_byte = 8 / bits;
  uint8_t& byte = static_cast<uint8_t*>(data)[i / per_byte];
  const int shift = static_cast<int>(i % per_byte) * bits, mask = ((1 << bits) - 1) << shift;
  byte = static_cast<uint8_t>((byte & ~mask) | ((code << shift) & mask));
}

float packed_value(DType t, int code) {
  const int bits = dtype_bits(t);
  if (t == DType::f4e2m1) return quarter_to_float(t, static_cast<uint8_t>(code));
  const bool negative = is_signed(t) && code >> (bits - 1);
  return static_cast<float>(negative ? code - (1 << bits) : code);
}

// The value of each code.
const std::array<float, 16>& packed_values(DType t) {
  const auto make = [](DType type) {
    std::array<float, 16> v{};
    for (size_t code = 0; code < size_t{1} << dtype_bits(type); code++)
      v[code] = packed_value(type, static_cast<int>(code));
    return v;
  };
  static constinit FirstUse<const std::array<std::array<float, 16>, 5>> made;
  const auto& tables = made.get([&] {
    return std::array{make(DType::u2), make(DType::s2), make(DType::u4), make(DType::s4),
                      make(DType::f4e2m1)};
  });
  return tables[t == DType::u2   ? 0
                : t == DType::s2 ? 1
                : t == DType::u4 ? 2
                : t == DType::s4 ? 3
                                 : 4];
}

void widen_packed(DType t, const void* data, int64_t first, int64_t count, float* out) {
  const int bits = dtype_bits(t), per_byte = 8 / bits;
  const std::array<float, 16>& value = packed_values(t);
  int64_t i = 0;
  const auto one = [&] {
    out[i] = value[static_cast<size_t>(code_at(data, first + i, bits))], i++;
  };
  while (i < count && (first + i) % per_byte != 0) one();
  const uint8_t* byte = static_cast<const uint8_t*>(data) + (first + i) / per_byte;
  if (bits == 4)
    for (; i + 2 <= count; i += 2, byte++) {
      out[i] = value[static_cast<size_t>(*byte & 15)];
      out[i + 1] = value[static_cast<size_t>(*byte >> 4)];
    }
  while (i < count) one();
}

int packed_code(DType t, float v) {
  if (t == DType::f4e2m1) return float_to_quarter(t, v, true);
  const int bits = dtype_bits(t), low = is_signed(t) ? -(1 << (bits - 1)) : 0;
  const int high = is_signed(t) ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  if (v != v) return 0;
  if (v <= static_cast<float>(low)) return low;
  if (v >= static_cast<float>(high)) return high;
  return static_cast<int>(std::nearbyint(v));
}

// The layout of an 8-bit float: bits of the mantissa and bias of the exponent. f8e8m0, the last
// entry of kQuarters, has no such layout and only uses the table of values.
struct QuarterLayout {
  DType type;
  int mantissa_bits, bias;
};
constexpr std::array kQuarters = {
    QuarterLayout{DType::f8e4m3fn, 3, 7}, QuarterLayout{DType::f8e4m3fnuz, 3, 8},
    QuarterLayout{DType::f8e5m2, 2, 15},  QuarterLayout{DType::f8e5m2fnuz, 2, 16},
    QuarterLayout{DType::f8_143, 3, 8},   QuarterLayout{DType::f8_152, 2, 16},
    QuarterLayout{DType::f8e8m0, 0, 0}};

size_t quarter_index(DType t) {
  return static_cast<size_t>(std::find_if(kQuarters.begin(), kQuarters.end(),
                                          [t](const QuarterLayout& q) { return q.type == t; }) -
                             kQuarters.begin());
}

// The value of each code, and the description by which isa/quarters.h rounds numbers to codes. Both
// are computed with conversions of single numbers.
struct QuarterTables {
  std::array<std::array<float, 256>, kQuarters.size()> values;
  std::array<std::array<isa::QuarterFormat, 2>, kQuarters.size()> formats;  // [1] is saturating

  QuarterTables() {
    constexpr float kMost = std::numeric_limits<float>::max();
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    for (size_t i = 0; i < kQuarters.size(); i++) {
      const auto [t, mantissa_bits, bias] = kQuarters[i];
      for (size_t c = 0; c < values[i].size(); c++)
        values[i][c] = quarter_to_float(t, static_cast<uint8_t>(c));
      for (const bool saturate : {false, true})
        formats[i][saturate] = {mantissa_bits,
                                bias,
                                float_to_quarter(t, kMost, true),
                                float_to_quarter(t, kMost, saturate),
                                float_to_quarter(t, -kMost, saturate),
                                float_to_quarter(t, kNan, saturate),
                                float_to_quarter(t, -kNan, saturate),
                                float_to_quarter(t, -0.0f, true) != 0};
    }
  }
};

const QuarterTables& quarter_tables() {
  static constinit FirstUse<const QuarterTables> tables;
  return tables.get([] { return QuarterTables(); });
}

}  // namespace

bool is_convertible(DType t) {
  return t != DType::undefined && t != DType::string && t != DType::c64 && t != DType::c128 &&
         t != DType::boolean;
}

void to_floats(DType t, const void* data, int64_t first, int64_t count, float* out) noexcept {
  switch (t) {
    case DType::f32: return widen<float>(data, first, count, out);
    case DType::f64: return widen<double>(data, first, count, out);
    case DType::f16: return widen_half(isa::Number::f16, data, first, count, out);
    case DType::bf16: return widen_half(isa::Number::bf16, data, first, count, out);
    case DType::s8: return widen<int8_t>(data, first, count, out);
    case DType::u8: return widen<uint8_t>(data, first, count, out);
    case DType::s16: return widen<int16_t>(data, first, count, out);
    case DType::u16: return widen<uint16_t>(data, first, count, out);
    case DType::s32: return widen<int32_t>(data, first, count, out);
    case DType::u32: return widen<uint32_t>(data, first, count, out);
    case DType::s64: return widen<int64_t>(data, first, count, out);
    case DType::u64: return widen<uint64_t>(data, first, count, out);
    default: break;
  }
  if (is_packed(t)) return widen_packed(t, data, first, count, out);
  const auto& values = quarter_tables().values[quarter_index(t)];
  for (int64_t i = 0; i < count; i++) out[i] = values[static_cast<const uint8_t*>(data)[first + i]];
}

void from_floats(DType t, void* data, int64_t first, int64_t count, const float* in,
                 bool saturate) noexcept {
  switch (t) {
    case DType::f32:
      for (int64_t i = 0; i < count; i++) static_cast<float*>(data)[first + i] = in[i];
      return;
    case DType::f64:
      for (int64_t i = 0; i < count; i++)
        static_cast<double*>(data)[first + i] = static_cast<double>(in[i]);
      return;
    case DType::f16: return narrow_half(isa::Number::f16, data, first, count, in);
    case DType::bf16: return narrow_half(isa::Number::bf16, data, first, count, in);
    case DType::s8: return narrow<int8_t>(data, first, count, in);
    case DType::u8: return narrow<uint8_t>(data, first, count, in);
    case DType::s16: return narrow<int16_t>(data, first, count, in);
    case DType::u16: return narrow<uint16_t>(data, first, count, in);
    case DType::s32:
      for (int64_t i = 0; i < count; i++) {
        const double v = std::nearbyint(static_cast<double>(in[i]));
        static_cast<int32_t*>(data)[first + i] =
            v != v            ? 0
            : v <= -0x1p31    ? std::numeric_limits<int32_t>::min()
            : v >= 0x1p31 - 1 ? std::numeric_limits<int32_t>::max()
                              : static_cast<int32_t>(v);
      }
      return;
    default: break;
  }
  if (is_packed(t)) {
    const int bits = dtype_bits(t);
    for (int64_t i = 0; i < count; i++) put_code(data, first + i, bits, packed_code(t, in[i]));
    return;
  }
  uint8_t* to = static_cast<uint8_t*>(data) + first;
  if (t != DType::f8e8m0)
    return POPRT_SELECT_ISA(quarters).round(quarter_tables().formats[quarter_index(t)][saturate],
                                            in, to, count);
  for (int64_t i = 0; i < count; i++) to[i] = float_to_quarter(t, in[i], saturate);
}

}  // namespace poprt::kernels

// Element types: all types of ONNX, and the two quarter formats of the IPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace poprt {

// Program files contain these numbers, so new types are only appended.
enum class DType : uint8_t {
  undefined = 0,
  f32 = 1,
  f64 = 2,
  f16 = 3,
  bf16 = 4,
  s8 = 5,
  u8 = 6,
  s16 = 7,
  u16 = 8,
  s32 = 9,
  u32 = 10,
  s64 = 11,
  u64 = 12,
  boolean = 13,
  f8e4m3fn = 14,
  f8e4m3fnuz = 15,
  f8e5m2 = 16,
  f8e5m2fnuz = 17,
  f8_143 = 18,  // IPU QUARTER, F143
  f8_152 = 19,  // IPU QUARTER, F152
  s4 = 20,      // two elements per byte, low nibble first
  u4 = 21,
  s2 = 22,  // four elements per byte, low bits first
  u2 = 23,
  f4e2m1 = 24,
  string = 25,
  c64 = 26,
  c128 = 27,
  f8e8m0 = 28,  // a power of two, 2^(code - 127); the scales of block formats
};
inline constexpr int kDTypeCount = 29;

// The name of a type in the text IR, such as "f32", "s64" or "bool".
std::string_view dtype_name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);

// Bits of one element; 0 for undefined and string.
int dtype_bits(DType dtype);

// Bytes of `count` densely stored elements. Sub-byte types are rounded up. Throws out_of_range.
uint64_t dtype_bytes(DType dtype, int64_t count);

bool is_float(DType dtype);    // f64 f32 f16 bf16 and all f8 / f4
bool is_integer(DType dtype);  // s* u*, not bool
bool is_signed(DType dtype);   // s* and every float, even f8e8m0, which has no sign
inline bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::s8; }

}  // namespace poprt

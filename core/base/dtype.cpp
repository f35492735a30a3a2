#include "base/dtype.h"

#include <array>

#include "base/checked.h"

namespace poprt {
namespace {

struct Info {
  std::string_view name;
  int bits;
};

constexpr std::array<Info, kDTypeCount> kInfo = {{
    {"undefined", 0},  {"f32", 32},   {"f64", 64},       {"f16", 16},   {"bf16", 16},
    {"s8", 8},         {"u8", 8},     {"s16", 16},       {"u16", 16},   {"s32", 32},
    {"u32", 32},       {"s64", 64},   {"u64", 64},       {"bool", 8},   {"f8e4m3fn", 8},
    {"f8e4m3fnuz", 8}, {"f8e5m2", 8}, {"f8e5m2fnuz", 8}, {"f8_143", 8}, {"f8_152", 8},
    {"s4", 4},         {"u4", 4},     {"s2", 2},         {"u2", 2},     {"f4e2m1", 4},
    {"string", 0},     {"c64", 64},   {"c128", 128},     {"f8e8m0", 8},
}};

}  // namespace

std::string_view dtype_name(DType dtype) {
  const auto i = static_cast<size_t>(dtype);
  return i < kInfo.size() ? kInfo[i].name : "invalid";
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kInfo.size(); i++)
    if (kInfo[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

int dtype_bits(DType dtype) {
  const auto i = static_cast<size_t>(dtype);
  return i < kInfo.size() ? kInfo[i].bits : 0;
}

uint64_t dtype_bytes(DType dtype, int64_t count) {
  if (count < 0) fail(ErrorCode::out_of_range, "element count {} is negative", count);
  const auto bits = static_cast<uint64_t>(dtype_bits(dtype));
  return checked_add<uint64_t>(checked_mul<uint64_t>(static_cast<uint64_t>(count), bits), 7) / 8;
}

bool is_float(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::f64:
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8_143:
    case DType::f8_152:
    case DType::f4e2m1:
    case DType::f8e8m0: return true;
    default: return false;
  }
}

bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::s8:
    case DType::u8:
    case DType::s16:
    case DType::u16:
    case DType::s32:
    case DType::u32:
    case DType::s64:
    case DType::u64:
    case DType::s4:
    case DType::u4:
    case DType::s2:
    case DType::u2: return true;
    default: return false;
  }
}

bool is_signed(DType dtype) {
  switch (dtype) {
    case DType::s8:
    case DType::s16:
    case DType::s32:
    case DType::s64:
    case DType::s4:
    case DType::s2: return true;
    default: return is_float(dtype);
  }
}

}  // namespace poprt

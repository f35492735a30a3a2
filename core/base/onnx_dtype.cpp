#include "base/onnx_dtype.h"

#include <algorithm>
#include <array>

namespace poprt {
namespace {

// Indexed by ONNX number.
constexpr std::array<DType, 27> kTypes = {
    DType::undefined,  DType::f32,  DType::u8,       DType::s8,         DType::u16,
    DType::s16,        DType::s32,  DType::s64,      DType::string,     DType::boolean,
    DType::f16,        DType::f64,  DType::u32,      DType::u64,        DType::c64,
    DType::c128,       DType::bf16, DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2,
    DType::f8e5m2fnuz, DType::u4,   DType::s4,       DType::f4e2m1,     DType::f8e8m0,
    DType::u2,         DType::s2,
};

}  // namespace

std::optional<DType> dtype_from_onnx(int64_t number) {
  if (number <= 0 || number >= static_cast<int64_t>(kTypes.size())) return std::nullopt;
  return kTypes[static_cast<size_t>(number)];
}

std::optional<int32_t> onnx_from_dtype(DType dtype) {
  const auto* found = std::find(kTypes.begin() + 1, kTypes.end(), dtype);
  if (found == kTypes.end()) return std::nullopt;
  return static_cast<int32_t>(found - kTypes.begin());
}

}  // namespace poprt

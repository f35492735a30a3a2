#include "onnx/elem_type.h"

#include <array>

#include "base/error.h"

namespace poprt::onnx {
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

DType dtype_from_elem_type(int32_t elem_type) {
  if (elem_type <= 0 || elem_type >= static_cast<int32_t>(kTypes.size()))
    fail(ErrorCode::invalid_argument, "unknown element type {}", elem_type);
  return kTypes[static_cast<size_t>(elem_type)];
}

int32_t elem_type_from_dtype(DType dtype) {
  for (size_t i = 1; i < kTypes.size(); i++)
    if (kTypes[i] == dtype && dtype != DType::undefined) return static_cast<int32_t>(i);
  fail(ErrorCode::unimplemented, "ONNX has no element type for {}", dtype_name(dtype));
}

std::string quote_name(std::string_view name) {
  constexpr size_t kShown = 120;
  std::string out = "'";
  for (const char c : name.substr(0, kShown)) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7f)
      out += fmt::format("\\x{:02x}", u);
    else
      out += c;
  }
  if (name.size() > kShown) out += "...";
  return out + "'";
}

}  // namespace poprt::onnx

#include "onnx/elem_type.h"

#include "base/error.h"
#include "base/onnx_dtype.h"

namespace poprt::onnx {

DType dtype_from_elem_type(int32_t elem_type) {
  const auto dtype = dtype_from_onnx(elem_type);
  if (!dtype) fail(ErrorCode::invalid_argument, "unknown element type {}", elem_type);
  return *dtype;
}

int32_t elem_type_from_dtype(DType dtype) {
  const auto number = onnx_from_dtype(dtype);
  if (!number) fail(ErrorCode::unimplemented, "ONNX has no element type for {}", dtype_name(dtype));
  return *number;
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

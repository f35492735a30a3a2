// PopRT stores 8-bit floats (F143, F152) as u8; their bits are those of ONNX's FNUZ types.
#pragma once

#include "ops/common/expansion.h"

namespace poprt::ops {

inline DType quarter_of(Expansion& e, std::string_view attribute) {
  const std::string name = e.node.string_attr(attribute, "F143");
  if (name == "F143") return DType::f8e4m3fnuz;
  if (name == "F152") return DType::f8e5m2fnuz;
  e.fail_unsupported("{} '{}', expected F143 or F152", attribute, name);
}

// The same as quarter_of() for the names that PopART uses.
inline DType quarter_named(Expansion& e, std::string_view attribute) {
  const std::string name = e.node.string_attr(attribute, "FLOAT8_143");
  if (name == "FLOAT8_143") return DType::f8e4m3fnuz;
  if (name == "FLOAT8_152") return DType::f8e5m2fnuz;
  e.fail_unsupported("{} '{}', expected FLOAT8_143 or FLOAT8_152", attribute, name);
}

// 2^(sign * scale) as f32.
inline ir::Value* power_of_two(Expansion& e, ir::Value* scale, double sign) {
  return e.add("Pow",
               {e.number(DType::f32, 2), e.scaled(e.cast(e.reshape(scale, {}), DType::f32), sign)});
}

// Converts to f32; bytes are 8-bit floats times 2^scale.
inline ir::Value* from_quarter(Expansion& e, ir::Value* x, DType quarter, ir::Value* scale) {
  if (x->dtype() != DType::u8) return e.cast(x, DType::f32);
  const int64_t number = quarter == DType::f8e4m3fnuz ? 18 : 20;
  x = e.cast(e.newest("BitCast", {x}, {{"to", number}}), DType::f32);
  return scale ? e.add("Mul", {x, power_of_two(e, scale, 1)}) : x;
}

// x / 2^scale rounded to 8-bit floats, as bytes.
inline void expand_cast_to_quarter(Expansion& e) {
  const DType quarter = quarter_of(e, "fp8Format");
  ir::Value* x = e.cast(e.in(0), DType::f32);
  if (e.has(1)) x = e.add("Mul", {x, power_of_two(e, e.in(1), -1)});
  e.out(0, e.newest("BitCast", {e.cast(x, quarter)}, {{"to", int64_t{2}}}));
}

// Inputs: A, B, scaleA?, scaleB?. The result is f16.
inline void expand_quarter_matmul(Expansion& e) {
  ir::Value* a = from_quarter(e, e.in(0), quarter_of(e, "fp8FormatLHS"), e.in_or_null(2));
  ir::Value* b = from_quarter(e, e.in(1), quarter_of(e, "fp8FormatRHS"), e.in_or_null(3));
  e.out(0, e.cast(e.add("MatMul", {a, b}), DType::f16));
}

// Inputs: X, W, scaleX?, scaleW?, B?. The result is f16. Attributes are those of Conv.
inline void expand_quarter_conv(Expansion& e) {
  ir::Value* x = from_quarter(e, e.in(0), quarter_of(e, "fp8FormatLHS"), e.in_or_null(2));
  ir::Value* w = from_quarter(e, e.in(1), quarter_of(e, "fp8FormatRHS"), e.in_or_null(3));
  ir::Value* b = e.has(4) ? e.cast(e.in(4), DType::f32) : nullptr;
  e.out(0, e.cast(e.add_like("Conv", {x, w, b}, {"fp8FormatLHS", "fp8FormatRHS"}), DType::f16));
}

}  // namespace poprt::ops

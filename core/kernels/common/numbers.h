// Calls a generic function with a value of the C++ type of a dtype.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace poprt::kernels {

// Calls f(T{}) for f32, f64, integers of whole bytes, and bool as uint8_t. Returns false for other
// dtypes.
template <class F>
bool visit_number(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: f(float{}); return true;
    case DType::f64: f(double{}); return true;
    case DType::s8: f(int8_t{}); return true;
    case DType::u8:
    case DType::boolean: f(uint8_t{}); return true;
    case DType::s16: f(int16_t{}); return true;
    case DType::u16: f(uint16_t{}); return true;
    case DType::s32: f(int32_t{}); return true;
    case DType::u32: f(uint32_t{}); return true;
    case DType::s64: f(int64_t{}); return true;
    case DType::u64: f(uint64_t{}); return true;
    default: return false;
  }
}

}  // namespace poprt::kernels

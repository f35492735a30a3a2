#include "ops/common/scalar.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/float_odd.h"
#include "base/quarter.h"

namespace poprt::ops {
namespace {

// A value outside the range of the type is clamped to the nearest number.
template <class T>
Tensor integer(DType dtype, double value) {
  Tensor t = Tensor::zeros(dtype, {});
  const T v = saturate_cast<T>(value);
  std::memcpy(t.mutable_data(), &v, sizeof(v));
  return t;
}

}  // namespace

Tensor scalar_tensor(DType dtype, double value) {
  // A type of 16 or 8 bits rounds once.
  const float odd = to_float_odd(value);
  switch (dtype) {
    case DType::f32: return Tensor::scalar<float>(static_cast<float>(value));
    case DType::f64: return Tensor::scalar<double>(value);
    case DType::f16: return Tensor::scalar<f16_t>(to_f16(odd));
    case DType::bf16: return Tensor::scalar<bf16_t>(to_bf16(odd));
    case DType::boolean: return integer<uint8_t>(dtype, value != 0);
    case DType::s8: return integer<int8_t>(dtype, value);
    case DType::u8: return integer<uint8_t>(dtype, value);
    case DType::s16: return integer<int16_t>(dtype, value);
    case DType::u16: return integer<uint16_t>(dtype, value);
    case DType::s32: return integer<int32_t>(dtype, value);
    case DType::u32: return integer<uint32_t>(dtype, value);
    case DType::s64: return integer<int64_t>(dtype, value);
    case DType::u64: return integer<uint64_t>(dtype, value);
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8_143:
    case DType::f8_152: return integer<uint8_t>(dtype, float_to_quarter(dtype, odd, true));
    case DType::f8e8m0:  // rounds up, so an odd neighbour of a power of two would differ
      return integer<uint8_t>(dtype, float_to_quarter(dtype, static_cast<float>(value), true));
    default: break;
  }
  fail(ErrorCode::unimplemented, "a number cannot be stored as {}", dtype_name(dtype));
}

}  // namespace poprt::ops

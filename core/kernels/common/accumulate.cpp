#include "kernels/common/accumulate.h"

#include <type_traits>

#include "base/half.h"
#include "kernels/common/elements.h"

namespace poprt::kernels {
namespace {

template <size_t N>
void replace(void* to, const void* from, int64_t count) noexcept {
  if (count > 0) std::memcpy(to, from, N * static_cast<size_t>(count));
}

// If `a` or the update `b` is NaN, the minimum and the maximum are b, as in ONNX Runtime: an update
// that is NaN is stored, and the next one replaces it.
template <ScatterReduction kOp, class V>
V combine(V a, V b) {
  if constexpr (kOp == ScatterReduction::add)
    return static_cast<V>(a + b);
  else if constexpr (kOp == ScatterReduction::mul)
    return static_cast<V>(a * b);
  else if constexpr (kOp == ScatterReduction::min)
    return a < b ? a : b;
  else
    return a > b ? a : b;
}

template <class T, ScatterReduction kOp>
void accumulate(void* to, const void* from, int64_t count) noexcept {
  auto* t = static_cast<std::byte*>(to);
  const auto* f = static_cast<const std::byte*>(from);
  for (int64_t i = 0; i < count; i++, t += sizeof(T), f += sizeof(T)) {
    T a, b;
    std::memcpy(&a, t, sizeof(T));
    std::memcpy(&b, f, sizeof(T));
    if constexpr (std::is_same_v<T, f16_t>) {
      a = to_f16(combine<kOp>(to_float(a), to_float(b)));
    } else if constexpr (std::is_same_v<T, bf16_t>) {
      a = to_bf16(combine<kOp>(to_float(a), to_float(b)));
    } else if constexpr (std::is_integral_v<T>) {
      // The arithmetic is unsigned and at least 32 bits wide, so that overflow wraps.
      if constexpr (kOp == ScatterReduction::add || kOp == ScatterReduction::mul) {
        using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
        a = static_cast<T>(combine<kOp>(static_cast<U>(a), static_cast<U>(b)));
      } else {
        a = combine<kOp>(a, b);
      }
    } else {
      a = combine<kOp>(a, b);
    }
    std::memcpy(t, &a, sizeof(T));
  }
}

template <class T>
Accumulate arithmetic_of(ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::add: return accumulate<T, ScatterReduction::add>;
    case ScatterReduction::mul: return accumulate<T, ScatterReduction::mul>;
    case ScatterReduction::min: return accumulate<T, ScatterReduction::min>;
    case ScatterReduction::max: return accumulate<T, ScatterReduction::max>;
    default: return nullptr;
  }
}

}  // namespace

Accumulate find_accumulate(DType dtype, ScatterReduction reduction) {
  if (reduction == ScatterReduction::none) {
    switch (dtype_bits(dtype)) {
      case 8: return replace<1>;
      case 16: return replace<2>;
      case 32: return replace<4>;
      case 64: return replace<8>;
      case 128: return replace<16>;
      default: return nullptr;
    }
  }
  switch (dtype) {
    case DType::f32: return arithmetic_of<float>(reduction);
    case DType::f64: return arithmetic_of<double>(reduction);
    case DType::f16: return arithmetic_of<f16_t>(reduction);
    case DType::bf16: return arithmetic_of<bf16_t>(reduction);
    case DType::s8: return arithmetic_of<int8_t>(reduction);
    case DType::u8: return arithmetic_of<uint8_t>(reduction);
    case DType::s16: return arithmetic_of<int16_t>(reduction);
    case DType::u16: return arithmetic_of<uint16_t>(reduction);
    case DType::s32: return arithmetic_of<int32_t>(reduction);
    case DType::u32: return arithmetic_of<uint32_t>(reduction);
    case DType::s64: return arithmetic_of<int64_t>(reduction);
    case DType::u64: return arithmetic_of<uint64_t>(reduction);
    default: return nullptr;
  }
}

}  // namespace poprt::kernels

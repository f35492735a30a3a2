// The quantisation grid of DynamicQuantizeLinear: u8 over the range of the numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/isa/quantize.h"

namespace poprt::kernels {

struct DynamicGrid {
  float scale, zero;  // zero is an integer
};

// The grid for the range of n numbers, extended to contain 0: scale = (max - min) / 255 (1 if that
// is 0, as in ONNX Runtime), zero = round(-min / scale), or 0 if this is NaN because min is
// -infinity. NaNs do not belong to the range.
inline DynamicGrid dynamic_grid(const isa::QuantizeTable& table, const float* x,
                                int64_t n) noexcept {
  float low = 0, high = 0;
  table.range(x, n, &low, &high);
  const float range = (high - low) / 255.0f, scale = range == 0 ? 1.0f : range;
  const float zero = std::nearbyint(-low / scale);
  return {scale, std::isnan(zero) ? 0.0f : std::clamp(zero, 0.0f, 255.0f)};
}

}  // namespace poprt::kernels

// Sums of products in sixteen lanes, which compilers can vectorise without reordering additions.
#pragma once

#include <cstdint>

namespace poprt::kernels {

inline float dot(const float* a, const float* b, int64_t n) noexcept {
  float lanes[16] = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int64_t j = 0; j < 16; j++) lanes[j] += a[i + j] * b[i + j];
  float sum = 0;
  for (; i < n; i++) sum += a[i] * b[i];
  for (int64_t j = 0; j < 16; j++) sum += lanes[j];
  return sum;
}

}  // namespace poprt::kernels

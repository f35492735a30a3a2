// Bytes for products: random ones, and the extremes side by side.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace poprt::kernels {

// The first third alternates between 0xff and `other`, for which 16-bit sums would saturate.
inline std::vector<uint8_t> random_bytes(size_t n, uint32_t seed, uint8_t other = 0x80) {
  std::mt19937 rng(seed);
  std::vector<uint8_t> v(n);
  for (uint8_t& b : v) b = static_cast<uint8_t>(rng());
  for (size_t i = 0; i < n / 3; i++) v[i] = i % 2 ? 0xff : other;
  return v;
}

}  // namespace poprt::kernels

// Rounds doubles to odd, for conversions to floats of 16 bits or fewer.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace poprt {

// Converts to float: the double itself if it is one, else the one of its two neighbours whose last
// bit is set. Rounding the result to a type with at least two digits fewer then equals rounding the
// double once, which rounding twice to nearest does not: 1 + 2^-11 + 2^-40 would become the tie 1 +
// 2^-11 first. Infinite if rounding the double to nearest gives infinity. (Boldo and Melquiond,
// "Emulation of a FMA and correctly rounded sums", 2008.)
inline float to_float_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  if (back == value || !std::isfinite(nearest)) return nearest;
  const float below = std::fabs(back) > std::fabs(value) ? std::nextafter(nearest, 0.0f) : nearest;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(below) | 1u);
}

}  // namespace poprt

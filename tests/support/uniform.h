// Random floats of a range.
#pragma once

#include <algorithm>
#include <random>

namespace poprt::test {

// Returns the numbers of std::uniform_real_distribution<float>(low, high), bit for bit. libstdc++
// computes two logarithms of a long double for every number, which takes ten times as long.
struct Uniform {
  float low, high;
  float operator()(std::mt19937& rng) const {
    return std::min(static_cast<float>(rng()) * 0x1p-32f, 0x1.fffffep-1f) * (high - low) + low;
  }
};

}  // namespace poprt::test

// Random floats of a range.
#pragma once

#include <algorithm>
#include <random>

namespace poprt::test {

// What std::uniform_real_distribution<float>(low, high) gives, bit for bit; libstdc++'s asks for
// two logarithms of a long double at every number, ten times as long as the rest.
struct Uniform {
  float low, high;
  float operator()(std::mt19937& rng) const {
    return std::min(static_cast<float>(rng()) * 0x1p-32f, 0x1.fffffep-1f) * (high - low) + low;
  }
};

}  // namespace poprt::test

// Code shared by benchmarks that measure alternately.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace poprt::bench {

using Clock = std::chrono::steady_clock;

constexpr int kTurns = 5;

inline double seconds_since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

// Prints minimum, median and maximum.
inline void print(const char* what, std::vector<double> values, const char* unit) {
  std::sort(values.begin(), values.end());
  std::printf("%-40s %.4g / %.4g / %.4g %s\n", what, values.front(), values[values.size() / 2],
              values.back(), unit);
}

}  // namespace poprt::bench

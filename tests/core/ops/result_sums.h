// Two sums of a tensor, by which results are recorded: the first depends on the positions of the
// values, and the second one gives the scale of the tolerance.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace poprt::ops::sampled {

struct Sums {
  double weighted = 0, absolute = 0;
  int64_t special = 0;  // infinities and NaN
};

inline Sums sums_of(const Tensor& t) {
  Sums s;
  const std::vector<double> values = t.to_doubles();
  for (size_t i = 0; i < values.size(); i++) {
    if (!std::isfinite(values[i])) {
      s.special += static_cast<int64_t>(1 + i % 7);
      continue;
    }
    s.weighted += values[i] * (1 + static_cast<double>(i % 13) / 4);
    s.absolute += std::fabs(values[i]);
  }
  return s;
}

inline bool near(const Sums& x, const Sums& y, double tolerance) {
  const double most = tolerance * std::max(x.absolute, y.absolute) + 1e-4;
  return x.special == y.special && std::fabs(x.weighted - y.weighted) <= 2 * most &&
         std::fabs(x.absolute - y.absolute) <= most;
}

inline std::string text_of(const Sums& s) {
  return fmt::format("{:.6g} {:.6g}{}", s.weighted, s.absolute,
                     s.special ? fmt::format(" {}", s.special) : "");
}

// Returns false if `text` does not contain sums.
inline bool read_sums(const std::string& text, Sums& s) {
  std::istringstream numbers(text);
  if (!(numbers >> s.weighted >> s.absolute)) return false;
  numbers >> s.special;
  return true;
}

}  // namespace poprt::ops::sampled

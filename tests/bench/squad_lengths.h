// Lengths of sequences, distributed like those of questions and paragraphs of SQuAD.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace poprt::bench {

// Returns `count` lengths from 1 to `longest`, the same in each call. The distribution is
// log-normal, as for lengths of texts, with a mean of about 0.4 * longest.
inline std::vector<long> squad_lengths(long longest, int count) {
  constexpr double kMean = 0.4, kSigma = 0.45;
  std::mt19937 random(1);
  std::lognormal_distribution<double> length(
      std::log(kMean * static_cast<double>(longest)) - kSigma * kSigma / 2, kSigma);
  std::vector<long> list;
  for (int i = 0; i < count; i++)
    list.push_back(std::clamp(static_cast<long>(length(random)), 1L, longest));
  return list;
}

}  // namespace poprt::bench

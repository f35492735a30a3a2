// What a tensor's elements are like: extremes, moments, a histogram, and single elements as text.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace poprt::inspector {

struct TensorStatistics {
  uint64_t elements = 0;
  uint64_t examined = 0;  // fewer when the tensor is huge: evenly spread runs of it
  uint64_t zeros = 0, nans = 0, infinities = 0;
  double least = 0, most = 0, mean = 0, deviation = 0;  // of the finite ones
  bool numeric = false;                                 // false: text, complex
  static constexpr size_t kBins = 64;
  std::array<uint64_t, kBins> histogram{};  // of the finite ones, from least to most
};

// Every weight of a model that fits into a computer is counted as a whole; a second for about 1e8.
inline constexpr uint64_t kMostExamined = uint64_t{1} << 31;

// At most about `limit` elements are looked at. Throws Error(cancelled).
TensorStatistics tensor_statistics(const Tensor& tensor, uint64_t limit = kMostExamined,
                                   const std::atomic<bool>* cancel = nullptr);

// Elements [first, first + count) as doubles; the range must lie inside.
std::vector<double> tensor_values(const Tensor& tensor, int64_t first, int64_t count);
// One element, exactly enough digits.
std::string element_text(const Tensor& tensor, int64_t index);

}  // namespace poprt::inspector

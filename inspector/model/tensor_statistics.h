// Statistics of a tensor's elements: extremes, moments, a histogram, and single elements as text.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace poprt::inspector {

struct TensorStatistics {
  uint64_t elements = 0;
  uint64_t examined = 0;  // fewer than all if the tensor is huge: evenly spread runs
  uint64_t zeros = 0, nans = 0, infinities = 0;
  double least = 0, most = 0, mean = 0, deviation = 0;  // of the finite elements
  bool numeric = false;                                 // false for text and complex numbers
  static constexpr size_t kBins = 64;
  std::array<uint64_t, kBins> histogram{};  // of the finite elements, from least to most

  // Whether an examined element is finite, so that there are extremes and moments.
  bool has_finite() const { return examined > nans + infinities; }
};

// Large enough for every weight of a model that fits into memory. 1e8 elements take about a second.
inline constexpr uint64_t kMostExamined = uint64_t{1} << 31;

// Examines at most about `limit` elements. Throws Error(cancelled).
TensorStatistics tensor_statistics(const Tensor& tensor, uint64_t limit = kMostExamined,
                                   const std::atomic<bool>* cancel = nullptr);

// Elements [first, first + count) as doubles; the range must be inside the tensor.
std::vector<double> tensor_values(const Tensor& tensor, int64_t first, int64_t count);
// Calls `visit(first, values)` for elements [first, first + count) in runs, because all of them as
// doubles may not fit into memory. Throws Error(cancelled).
void for_values(const Tensor& tensor, int64_t first, int64_t count, const std::atomic<bool>* cancel,
                const std::function<void(int64_t, const std::vector<double>&)>& visit);
// left - right for elements [first, first + count) of two tensors with numbers; the range must be
// inside both. 0 only if the elements are the same number or both are NaN, also for two tensors of
// s64 or of u64, whose elements need not be doubles. NaN if one is NaN.
std::vector<double> element_differences(const Tensor& left, const Tensor& right, int64_t first,
                                        int64_t count);
// One element: strings and integers exactly, f64 with 17 digits, f32 with the fewest of 7 to 9
// digits that give the same element again, other floats with 7, which is enough for them.
std::string element_text(const Tensor& tensor, int64_t index);

}  // namespace poprt::inspector

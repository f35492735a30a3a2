// Compares two results: the elements that differ, and the largest elements of one.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace poprt::inspector {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Elements are equal if both are finite and |left - right| <= absolute + relative * |right|, if
// they are the same, or if both are NaN. An infinity is equal only to itself, because a tolerance
// relative to it would accept every number.
struct Tolerance {
  double relative = 1e-3, absolute = 1e-4;
};

struct DifferingElement {
  int64_t index = 0;
  double left = 0, right = 0;
  double difference = 0;  // left - right; rounded once if both are 64-bit integers of one type
  std::string left_text = {}, right_text = {};  // element_text()
};

struct TensorDifference {
  std::string name;
  std::string problem;  // why they cannot be compared: "left is f32 1×2, right is f32 1×3"
  uint64_t elements = 0, differing = 0;
  double largest = 0, largest_relative = 0;  // absolute, and relative to the right value
  double rms = 0, rms_right = 0;             // of the differences and of the right values
  std::vector<DifferingElement> worst;       // elements that differ, largest difference first
  static constexpr size_t kBins = 256;
  // Number of differing elements in consecutive parts of equal length, for a picture of their
  // positions.
  std::vector<uint64_t> where;

  bool agrees() const { return problem.empty() && differing == 0; }
};

// At most `most` elements are listed. Throws Error(cancelled).
TensorDifference compare_tensors(const std::string& name, const Tensor& left, const Tensor& right,
                                 const Tolerance& tolerance, size_t most = 1000,
                                 const std::atomic<bool>* cancel = nullptr);

// Compares outputs by name. If they have no common name and equal numbers, compares by position.
std::vector<TensorDifference> compare_outputs(const std::vector<NamedTensor>& left,
                                              const std::vector<NamedTensor>& right,
                                              const Tolerance& tolerance,
                                              const std::atomic<bool>* cancel = nullptr);

// "[0, 3, 17]" for element `index` of a tensor of that shape; "[]" for a scalar.
std::string coordinates_text(const Shape& shape, int64_t index);

// Positions of the largest elements in row `row` of the last dimension, without NaNs.
std::vector<int64_t> top_elements(const Tensor& tensor, int64_t row, size_t most,
                                  const std::atomic<bool>* cancel = nullptr);
// Number of rows of the last dimension; 1 for a scalar, 0 for an empty tensor.
int64_t row_count(const Tensor& tensor);
int64_t row_length(const Tensor& tensor);  // 1 for a scalar
// Softmax values of these elements over the row. As by ONNX's Softmax, all are NaN if an element of
// the row is NaN or positive infinity, or if all are negative infinity. Negative infinities in
// other rows, such as masked elements, have the value 0.
std::vector<double> softmax_of(const Tensor& tensor, int64_t row, std::span<const int64_t> elements,
                               const std::atomic<bool>* cancel = nullptr);

}  // namespace poprt::inspector

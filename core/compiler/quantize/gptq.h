// GPTQ: rounds a matrix of weights column by column, and lets the columns that follow make up for
// what each has lost, by how the inputs of a product go together. Frantar et al.,
// https://arxiv.org/abs/2210.17323.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "passes/common/precision_parameters.h"

namespace poprt::compiler {

// The sum of x x^T over rows x of what a product is given.
class Gram {
 public:
  explicit Gram(int64_t size) : size_(size), sums_(static_cast<size_t>(size * size)) {}
  // Rows of `size` floats, one after the other.
  void add(std::span<const float> rows);
  int64_t size() const { return size_; }
  int64_t rows() const { return rows_; }
  // Row i of the sums, of which only what is on the diagonal and right of it counts.
  const float* row(int64_t i) const { return &sums_[static_cast<size_t>(i * size_)]; }

 private:
  int64_t size_, rows_ = 0;
  std::vector<float> sums_;  // the upper half
};

// The mean over rows x of the inputs of |(is - was) x|^2: how far the results are.
double output_loss(const Gram& gram, std::span<const float> was, std::span<const float> is);

struct GptqResult {
  std::vector<uint8_t> codes;
  double before = 0, after = 0;  // output_loss of the nearest codes, and of these
};

// `weights`: rows of gram.size() floats, one for each result. What is not better than rounding each
// weight to the nearest code is that.
GptqResult gptq(const Gram& gram, std::span<const float> weights,
                const passes::QuarterFormat& format);

}  // namespace poprt::compiler

// GPTQ: rounds a matrix of weights column by column. The later columns compensate the error of each
// column according to the correlation of the product's inputs. Frantar et al.,
// https://arxiv.org/abs/2210.17323.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "passes/common/precision_parameters.h"

namespace poprt::compiler {

// The sum of x x^T over the input rows x of a product.
class Gram {
 public:
  explicit Gram(int64_t size) : size_(size), sums_(static_cast<size_t>(size * size)) {}
  // Adds consecutive rows of `size` floats.
  void add(std::span<const float> rows);
  int64_t size() const { return size_; }
  int64_t rows() const { return rows_; }
  // Row i of the sums. Only elements on and right of the diagonal are valid.
  const float* row(int64_t i) const { return &sums_[static_cast<size_t>(i * size_)]; }

 private:
  int64_t size_, rows_ = 0;
  std::vector<float> sums_;  // the upper triangle
};

// The mean of |(is - was) x|^2 over the input rows x: the error of the results.
double output_loss(const Gram& gram, std::span<const float> was, std::span<const float> is);

struct GptqResult {
  std::vector<uint8_t> codes;
  double before = 0, after = 0;  // output_loss of the nearest codes, and of the returned codes
};

// `weights` has rows of gram.size() floats, one per result. If the result is not better than
// rounding each weight to the nearest code, the nearest codes are returned.
GptqResult gptq(const Gram& gram, std::span<const float> weights,
                const passes::QuarterFormat& format);

}  // namespace poprt::compiler

// Finds the 8-bit format with the smallest loss for a tensor.
#pragma once

#include <span>
#include <vector>

#include "compiler/quantize/loss.h"
#include "passes/common/precision_parameters.h"

namespace poprt::compiler {

struct FormatTrial {
  passes::QuarterFormat format;
  double loss = 0;
};

// All trials in order, F143 before F152 and small scales before large ones, and the first one with
// the smallest loss. The scales tried are near the smallest scale at which the tensor's largest
// number fits: eight below it, which clip up to 255/256 of that number, and one above it. Other
// scales of [-32, 31] clip more, or only lose more of the small numbers. Infinities and NaN are
// ignored, because no format changes their loss.
struct FormatSearch {
  std::vector<FormatTrial> trials;
  size_t best = 0;
  const FormatTrial& chosen() const { return trials[best]; }
};
FormatSearch search_format(std::span<const float> values, Loss loss);

// Returns the numbers that are neither infinite nor NaN.
std::vector<float> finite_values(std::span<const float> values);

// Returns the numbers after rounding to the format.
std::vector<float> rounded(std::span<const float> values, const passes::QuarterFormat& format);

}  // namespace poprt::compiler

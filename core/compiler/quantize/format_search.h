// The 8-bit format that keeps a tensor best.
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

// Every trial in order, F143 before F152 and small scales before large ones, and the best of them:
// the first of those with the least loss. The scales tried are those around the least at which a
// tensor's greatest number fits: eight below, which cut off up to 255/256 of it, and one above;
// others of [-32, 31] cut off more, or only lose more of its small numbers.
struct FormatSearch {
  std::vector<FormatTrial> trials;
  size_t best = 0;
  const FormatTrial& chosen() const { return trials[best]; }
};
FormatSearch search_format(std::span<const float> values, Loss loss);

// What is left of numbers that were kept in a format.
std::vector<float> rounded(std::span<const float> values, const passes::QuarterFormat& format);

}  // namespace poprt::compiler

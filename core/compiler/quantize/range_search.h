// Finds the range of a tensor that is stored in bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/quantize/loss.h"
#include "passes/common/precision_parameters.h"

namespace poprt::compiler {

// The values of a tensor over several runs: a sample, and the exact range.
struct RecordedValues {
  std::vector<float> sample;
  float least = 0, most = 0;

  // Adds run `run` of `runs`. If all runs together have more than 2^18 values, about 2^18 to 2^19
  // of them are kept, evenly spread.
  void add(std::span<const float> values, int64_t run, int64_t runs);
};

struct RangeTrial {
  float least = 0, most = 0;
  passes::ByteFormat format;
  double loss = 0;
};

// All trials in order, the widest range first, and the first one with the smallest loss.
struct RangeSearch {
  std::vector<RangeTrial> trials;
  size_t best = 0;
  const RangeTrial& chosen() const { return trials[best]; }
};

// Finds the range with the smallest loss for the values. Every format represents 0 exactly.
//   minmax      the least and the largest value
//   percentile  `percent` of the values are at most the upper end, and as many at least the lower
//               end
//   entropy     the divergence (Kullback and Leibler) between the histogram of the values, with
//               the values outside the range at its ends, and the histogram of 256 steps
//   others      the loss of the values after rounding (loss.h)
// All but the first two try 25 ranges, from the whole range to 0.29 of it.
RangeSearch search_range(const RecordedValues& values, Loss loss, double percent);

// Returns the format whose 256 numbers span the range, extended to contain 0. 0 is one of its
// numbers.
passes::ByteFormat byte_format(float least, float most);
// Returns the values after rounding to the format.
std::vector<float> rounded(std::span<const float> values, const passes::ByteFormat& format);

}  // namespace poprt::compiler

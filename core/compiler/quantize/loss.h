// The loss of 8-bit floats relative to the original numbers, for comparing formats.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace poprt::compiler {

// PopRT's names. `gptq` searches by mse and then changes the codes (gptq.h). The last three are
// choices of ranges for bytes (range_search.h).
enum class Loss { mse, mae, snr, kld, cos_dist, gptq, minmax, percentile, entropy };

std::optional<Loss> loss_named(std::string_view name);
std::string_view loss_name(Loss loss);

// Returns the loss of tensors of equal size; 0 for equal tensors. For `gptq` and the choices of
// ranges it is mse.
//   mse       mean of (is - was)^2
//   mae       mean of |is - was|
//   snr       sum of (is - was)^2 over sum of was^2
//   kld       sum of p log(p / q) - p + q over the sum of p, where p and q are |was| and |is|: the
//             Kullback-Leibler divergence of measures, which also grows if all magnitudes shrink.
//             In the logarithm, an element that became 0 counts as 2^-40 of the largest.
//   cos_dist  1 - 2 was.is / (was.was + is.is) with products of vectors: 1 - cosine of the angle
//             between them if their lengths are equal. The cosine alone would be 1 for a format
//             that cuts all values off, if their magnitudes are equal.
double loss_of(Loss loss, std::span<const float> was, std::span<const float> is);

// Mean, variance, skewness and excess kurtosis.
struct Moments {
  double mean = 0, variance = 0, skewness = 0, kurtosis = 0;
};
Moments moments_of(std::span<const float> values);

}  // namespace poprt::compiler

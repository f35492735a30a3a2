// BatchNormalization with constant parameters, for the passes that fold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// Whether `value` is a constant of `count` elements of type f32, f64, f16 or bf16.
bool is_constant_floats(const ir::Value* value, int64_t count);

// y = (x - mean) * factor + shift for each channel.
struct ChannelNorm {
  std::vector<double> factor, mean, shift;
  double apply(double x, size_t channel) const {
    return (x - mean[channel]) * factor[channel] + shift[channel];
  }
};

// Whether `bn` runs in inference mode, its parameters are constants of `channels` elements, and its
// optional outputs have no reader.
bool is_foldable_norm(const ir::Node& bn, int64_t channels);
// Requires a foldable `bn`.
ChannelNorm channel_norm_of(const ir::Node& bn);

}  // namespace poprt::passes

// BatchNormalization whose parameters are constants, as passes fold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// A constant of that many f32, f64, f16 or bf16.
bool is_constant_floats(const ir::Value* value, int64_t count);

// y = (x - mean) * factor + shift for each channel.
struct ChannelNorm {
  std::vector<double> factor, mean, shift;
  double apply(double x, size_t channel) const {
    return (x - mean[channel]) * factor[channel] + shift[channel];
  }
};

// `bn` works as it does in inference, its parameters are constants of `channels` elements, and
// nothing reads its further outputs.
bool is_foldable_norm(const ir::Node& bn, int64_t channels);
// Of a foldable one.
ChannelNorm channel_norm_of(const ir::Node& bn);

}  // namespace poprt::passes

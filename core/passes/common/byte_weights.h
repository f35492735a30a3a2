// Rounds weights of products to s8, and states which products have kernels for bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tensor.h"

namespace poprt::passes {

// The largest magnitude of a rounded weight. The range is symmetric, so that the zero point is 0.
inline constexpr float kLargestByte = 127;

// Whether all elements of a float constant are finite in f32.
bool is_finite(const Tensor& weight);
// The least scales with which the weights fit, one for each index of `axis`; 0 for zeros.
std::vector<float> byte_scales(const Tensor& weight, int64_t axis);
// The nearest s8 for these scales, which must not be 0. The weights must be finite.
Tensor to_bytes(const Tensor& weight, int64_t axis, std::span<const float> scales);

// Whether a convolution with weights of this shape is faster on bytes. Kernels for fewer than three
// channels in a group read one byte at a time, and floats are faster. Groups of one input and one
// output channel are an exception if their number is a multiple of 16: they have a kernel for
// channels last.
bool is_faster_on_bytes(const Shape& weight, int64_t group);

// Whether sums of that many products of bytes fit in 32 bits, with room for a bias.
inline bool byte_sums_fit(int64_t products) { return products > 0 && products <= 1 << 14; }

}  // namespace poprt::passes

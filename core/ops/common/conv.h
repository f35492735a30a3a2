// Properties of ONNX nodes that Conv and ConvTranspose share.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace poprt::ops {

// Whether input, weights and output of this Conv or ConvTranspose node have static f32 types
// without empty dimensions and one to three spatial dimensions, and the bias is absent or a vector
// of f32.
bool has_static_f32_types(const ir::Node& conv);
// Whether weights and bias are constants.
bool has_constant_weights(const ir::Node& conv);
// The dimensions after the first two.
std::vector<int64_t> spatial_of(const ir::Value& v);

}  // namespace poprt::ops

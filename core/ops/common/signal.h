// Helper of DFT and STFT.
#pragma once

#include "ops/op.h"

namespace poprt::ops {

// The single constant integer in input i, or nullopt if it is not constant (or absent). Throws
// invalid_argument if it does not have one element.
std::optional<int64_t> constant_integer(const ir::Node& node, size_t i);

}  // namespace poprt::ops

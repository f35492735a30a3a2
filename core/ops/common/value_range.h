// Checks of constant indices, lengths and positions. A constant outside its tensor is an error of
// the model. check_numbers.h and the kernels check values that are computed at run time
// (docs/decisions/invalid-values.md).
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/graph.h"

namespace poprt::ops {

// Throws invalid_argument with the node, `what` ("batch index"), the value and the range unless all
// values of input `input` are inside [0, size). Does nothing if the input is absent or not
// constant, or if the size is unknown.
void check_places(const ir::Node& node, size_t input, int64_t size, std::string_view what);
// The same for the range [0, most].
void check_lengths(const ir::Node& node, size_t input, int64_t most, std::string_view what);

}  // namespace poprt::ops

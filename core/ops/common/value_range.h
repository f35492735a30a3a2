// Constants that say where: indices, lengths and positions. One that lies outside of its tensor is
// a mistake of the model. Of run time they are harmless: docs/design.md says what they do.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/graph.h"

namespace poprt::ops {

// Throws invalid_argument with node, `what` ("batch index"), value and range unless all values of
// input `input` lie inside [0, size). Says nothing when it is absent or not constant, or when the
// size is unknown.
void check_places(const ir::Node& node, size_t input, int64_t size, std::string_view what);
// Same for [0, most].
void check_lengths(const ir::Node& node, size_t input, int64_t most, std::string_view what);

}  // namespace poprt::ops

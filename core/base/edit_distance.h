// How similar two words are, for suggestions in errors.
#pragma once

#include <cstddef>
#include <string_view>

namespace poprt {

// The least number of bytes that must be inserted, removed or replaced to turn one word into the
// other.
size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace poprt

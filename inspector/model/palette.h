// Colours by name, for the window and exported pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace poprt::inspector {

// Returns 0xRRGGBB. The same name always has the same colour, and operators that often occur
// together have different ones.
uint32_t hue_of(std::string_view name);
// Colours for the lines of one plot. Neighbours differ.
uint32_t hue_at(size_t index);

}  // namespace poprt::inspector

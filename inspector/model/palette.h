// Colours that tell names apart, in the window and in exported pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace poprt::inspector {

// 0xRRGGBB; the same name always has the same one, and operators that models have together have
// different ones.
uint32_t hue_of(std::string_view name);
// Of lines in one plot: neighbours differ.
uint32_t hue_at(size_t index);

}  // namespace poprt::inspector

// Colours by name, for the window and exported pictures. GraphView::colour_of_node() decides what
// the colour of a node shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace poprt::inspector {

// Kinds of operators and kernels. Members of a family share a hue and differ in lightness.
enum class Family {
  matmul,
  conv,
  sequence,
  norm,
  activation,
  arithmetic,
  reduction,
  movement,
  types,
  control,
  other
};
Family family_of(std::string_view name);

// Returns 0xRRGGBB for an operator ("Conv", "poprt.Conv") or a kernel ("conv_winograd"). The same
// name always has the same colour, and operators that often occur together have different ones.
uint32_t colour_of_name(std::string_view name);
// Colours for the lines of one plot. Neighbours differ.
uint32_t hue_at(size_t index);

}  // namespace poprt::inspector

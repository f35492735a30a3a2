// How each operator is added to a random graph: a recipe picks suitable inputs from the existing
// values, makes the missing ones and chooses attributes.
#pragma once

#include <span>
#include <string_view>

#include "support/random_graph/maker.h"

namespace poprt::test {

struct Recipe {
  std::string_view name;  // of the operator, or of the pattern
  void (*make)(Maker& m);
  int weight = 1;
};

std::span<const Recipe> elementwise_recipes();
std::span<const Recipe> movement_recipes();
std::span<const Recipe> index_recipes();
std::span<const Recipe> reduction_recipes();
std::span<const Recipe> convolution_recipes();
std::span<const Recipe> product_recipes();
std::span<const Recipe> normalization_recipes();
std::span<const Recipe> quantized_recipes();
std::span<const Recipe> recurrent_recipes();
std::span<const Recipe> signal_recipes();
std::span<const Recipe> pattern_recipes();
std::span<const Recipe> control_recipes();
std::span<const Recipe> size_recipes();

}  // namespace poprt::test

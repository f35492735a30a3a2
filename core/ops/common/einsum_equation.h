// The equation of an Einsum node whose operands have static shapes.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace poprt::ops {

// Labels in the order of the output, followed by those that are summed. A letter is represented by
// its character code, and dimension i of the ellipsis (counted from its right end) by 256 + i.
struct EinsumEquation {
  std::vector<int> labels;
  size_t rank = 0;                            // labels of the output
  std::vector<int64_t> sizes;                 // of each label
  std::vector<std::vector<int64_t>> strides;  // of each operand, one for each label
  std::vector<std::vector<int>> terms;        // the label of each axis of each operand

  int64_t size_of(int label) const;
};

// Throws invalid_argument if the equation is malformed or does not fit the shapes.
EinsumEquation parse_einsum(const ir::Node& node);

}  // namespace poprt::ops

// Finds the weights of a program that a payload can store in fewer bytes: as f16, bf16 or 8-bit
// floats.
#pragma once

#include <vector>

#include "compiler/compiler.h"

namespace poprt::compiler {

// Whether a graph has float constants of 8 or 16 bits, including bytes that PopRT's operators read
// as 8-bit floats. For other graphs narrow_weights() is not called, because it packs all weights
// again.
bool has_narrow_constants(const ir::Graph& graph);

// Whether a graph has constants of the type with at least two dimensions.
bool has_weights_of(const ir::Graph& graph, DType dtype);

// Returns the records of 4096 bytes or more that a narrower type represents exactly, or none if all
// of them together would save too little of the file. It packs each f32 weight of that size.
std::vector<program::NarrowWeights> narrow_weights(const program::Program& program,
                                                   std::span<const program::Weight> weights);

}  // namespace poprt::compiler

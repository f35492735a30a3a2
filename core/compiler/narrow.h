// Which weights of a program a payload may store as f16 or as 8-bit floats.
#pragma once

#include <vector>

#include "compiler/compiler.h"

namespace poprt::compiler {

// Whether a graph has constants of 16 bits or less that are floats: those of others are not looked
// at, which costs packing them once more.
bool has_narrow_constants(const ir::Graph& graph);

// The records of f32 weights that a narrower type holds exactly. Packs each.
std::vector<program::NarrowWeights> narrow_weights(const program::Program& program,
                                                   std::span<const program::Weight> weights);

}  // namespace poprt::compiler

// Finds the weights of a program that a payload can store in fewer bytes: as f16 or 8-bit floats,
// and Winograd's weights in plain form.
#pragma once

#include <vector>

#include "compiler/compiler.h"

namespace poprt::compiler {

// Whether a graph has float constants of at most 16 bits. Other graphs are skipped, because the
// check packs all weights again.
bool has_narrow_constants(const ir::Graph& graph);

// What to look for. `types`: f32 weights that a narrower type represents exactly. `plain`:
// Winograd's weights of any type.
struct NarrowSearch {
  bool types = true;
  bool plain = false;
};

// Returns the records that are found. It packs each weight, and without `types` only Winograd's.
std::vector<program::NarrowWeights> narrow_weights(const program::Program& program,
                                                   std::span<const program::Weight> weights,
                                                   const NarrowSearch& search = {});

}  // namespace poprt::compiler

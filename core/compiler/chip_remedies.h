// Options that make a program fit the memory of a chip.
#pragma once

#include <vector>

#include "compiler/chip_program.h"
#include "ipu/report.h"

namespace poprt::compiler {

// Tries options, one at a time and the cheapest changes first, and returns those with which the
// program fits: at most `most`, with the fewest cycles first. `graph` is prepared for the chip.
std::vector<ipu::Remedy> find_remedies(const ir::Graph& graph, const EstimateOptions& options,
                                       size_t most = 3);

}  // namespace poprt::compiler

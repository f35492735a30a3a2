// Options that make a program fit the memory of a chip.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "compiler/chip_program.h"
#include "ipu/report.h"

namespace poprt::compiler {

// Returns the model with another batch size, prepared for the chip. Throws Error if the model has a
// fixed batch size.
using WithBatch = std::function<std::unique_ptr<ir::Graph>(int64_t batch)>;

// Tries options, one at a time, and returns those with which the program fits: at most `most`, with
// the fewest cycles for a sample first. `graph` is prepared for the chip. Batches of a half, a
// quarter and an eighth are tried if `with_batch` is given.
std::vector<ipu::Remedy> find_remedies(const ir::Graph& graph, const EstimateOptions& options,
                                       const WithBatch& with_batch = {}, size_t most = 3);

}  // namespace poprt::compiler

// Options that make a program fit the memory of a chip.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/chip_program.h"
#include "ipu/report.h"

namespace poprt::compiler {

// A model with another batch size, prepared for the chip, and the options that give it that size.
struct OtherBatch {
  std::unique_ptr<ir::Graph> graph;
  std::string text;
};

// Returns the model with another batch size. Throws Error if the model has a fixed batch size.
using WithBatch = std::function<OtherBatch(int64_t batch)>;

// Tries options, and returns at most `most` of those with which the program fits, first the one
// with the fewest cycles for a sample, summed over the IPUs. If none fits, returns the option with
// which the fewest bytes are missing. `graph` is prepared for the chip. Smaller batches are tried
// if `with_batch` is given.
std::vector<ipu::Remedy> find_remedies(const ir::Graph& graph, const EstimateOptions& options,
                                       const WithBatch& with_batch = {}, size_t most = 3);

}  // namespace poprt::compiler

// The caller memory that the variants of an executable use.
//
// verify() bounds a buffer by its anchor, which is as large as the largest variant needs. A caller
// that runs a smaller variant has memory of that variant's size only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "program/program.h"

namespace poprt::program {

// Bytes from the beginning of each anchor's memory; 0 if a variant does not use the anchor.
struct AnchorMemory {
  std::vector<uint64_t> inputs, outputs;
};

// Returns, for each number from 0 to `count` - 1, the memory that main may use if the input
// `index_input` has this value. An instruction in a control.case that reads this input counts for
// the number of that case only, and every other instruction counts for all numbers. The program
// must be verified.
std::vector<AnchorMemory> memory_of_variants(const Program& program, size_t index_input,
                                             size_t count);

}  // namespace poprt::program

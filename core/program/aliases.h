// Inputs and outputs of a program that may have the same memory of the caller.
//
// A TensorScatter that updates a cache becomes two instructions:
//
//   copy [past, present]
//   tensor_scatter [rows, position, present]
//
// If present has the memory of past, the copy does nothing, and the cache is updated in place.
#pragma once

#include <cstdint>

#include "program/program.h"

namespace poprt::program {

// Whether the results of main do not change if input `input` and output `output` have the same
// memory: in each variant, the instructions that read the input come before those that write the
// output. A copy of bytes of the input to the same place of the output does not count as a write,
// but must also come before all writes. Instructions in loops must not use either.
bool may_share_memory(const Program& program, uint32_t input, uint32_t output);

}  // namespace poprt::program

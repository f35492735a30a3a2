// Outlining: equal sequences of operations become calls of one program.
//
// A call saves code and costs copies of the tensors that cross its boundary: weights and
// activations that the sequence reads are copied to the arguments of the program, and its results
// are copied back. A sequence is outlined if its value is above outline_threshold:
//
//   value = sum over operations (weight * sqrt(bytes of inputs))
//           - sum over tensors that cross the boundary sqrt(bytes)
//
// with a weight of 1000 for products and operations of more than two supersteps, and 0.1 for
// others.
//
// Worked example: an elementwise operation with inputs and results of 1 MB has the value
// 0.1 * 1000 - 2000, so it is not outlined alone. A layer with one product that reads 1 MB has a
// value of 1000 * 1000 less the roots of the tensors that cross its boundary, and is outlined with
// a threshold of 5000.
#pragma once

#include "ipu/program.h"
#include "ipu/target.h"

namespace poprt::ipu {

// Decides for each operation that has an equal one (ChipOp::same_as) whether it is part of a call,
// and clears same_as if it is not. Calls get supersteps and tensors for their arguments. Operations
// of one call are on one IPU. A negative threshold outlines nothing.
void outline(ChipProgram& program, const Target& target, const ChipOptions& options);

}  // namespace poprt::ipu

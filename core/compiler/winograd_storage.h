// Decides which Winograd convolutions store transformed weights.
//
// Transformed weights have 16/9 or 4 times the size of the weights. A kernel that reads plain
// weights transforms them in each run, once for each of its tasks. That takes longer if the weights
// are in a cache, and as long or less if they come from memory. Plain weights are those of a direct
// convolution, so readers of both kinds share them.
#pragma once

#include "ir/graph.h"

namespace poprt::compiler {

// Sets the attribute kTransformedAttribute of convolutions while transformed weights add at most a
// quarter to the constants of the graph. A PopEF file with padding and metadata thus has less than
// 1.3 times the size of the weights. Convolutions with the most tiles come first, because their
// kernels would transform the weights most often.
void choose_transformed_weights(ir::Graph& graph);

}  // namespace poprt::compiler

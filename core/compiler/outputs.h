// Selects the outputs of a model that is converted or compiled.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace poprt::compiler {

// Keeps only the outputs in `names`, in that order. If `names` is empty, all outputs stay. Throws
// not_found for an unknown output and invalid_argument for a repeated name.
void select_outputs(ir::Graph& graph, const std::vector<std::string>& names);

// Removes the outputs in `removed`, then makes outputs of the tensors in `checkpoints`. Throws
// not_found for an unknown output or tensor, and invalid_argument if no output would be left or a
// checkpoint is an input or a constant.
void change_outputs(ir::Graph& graph, const std::vector<std::string>& removed,
                    const std::vector<std::string>& checkpoints);

// Returns the names of intermediate results whose sizes depend on data although the sizes of their
// operands do not, one per line. `resolved` is the converted form of `graph`, in which all other
// shapes are known. Lists at most 32 names, of results that a caller can request.
std::string sized_results(const ir::Graph& graph, const ir::Graph& resolved);

}  // namespace poprt::compiler

// Which outputs a model has when it is converted or compiled.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace poprt::compiler {

// Leaves the outputs that `names` lists, in that order; none: all outputs stay. Throws not_found
// (there is no such output) and invalid_argument (a name is given twice).
void select_outputs(ir::Graph& graph, const std::vector<std::string>& names);

// Removes the outputs that `removed` lists, and makes outputs of the tensors that `checkpoints`
// lists. Throws not_found (there is no such output or tensor) and invalid_argument (no output would
// be left; a checkpoint is an input or a constant).
void change_outputs(ir::Graph& graph, const std::vector<std::string>& removed,
                    const std::vector<std::string>& checkpoints);

// Results inside of a model whose sizes depend on data, while those of the operands do not: a name
// on each line. `resolved` is the converted form of `graph`, where all other shapes are known. At
// most 32, of those that a caller can ask for.
std::string sized_results(const ir::Graph& graph, const ir::Graph& resolved);

}  // namespace poprt::compiler

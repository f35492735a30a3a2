// Describes a model whose shapes the requests decide (program/open_shapes.h).
#pragma once

#include <optional>

#include "compiler/driver.h"
#include "ir/graph.h"
#include "program/open_shapes.h"

namespace poprt::compiler {

struct OpenModel {
  program::OpenShapes shapes;
  // Whether the options fix every size, so that one shape can be compiled before a request arrives.
  bool complete = false;
};

// Returns nothing if no size of an input is open, or if an executable for one request at a time
// cannot be made: fused models, inputs of unknown rank, sequences and optionals. Options that
// change the types of inputs are applied to a copy of the graph at small sizes; returns nothing if
// the model cannot have such sizes.
std::optional<OpenModel> open_model(const ir::Graph& graph, const DriverOptions& options);

}  // namespace poprt::compiler

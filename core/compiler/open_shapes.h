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

// Returns nothing if no size of an input is open, or if the sizes of a request cannot determine an
// executable: for a fused model, inputs of unknown rank, sequences and optionals, and outputs of
// unknown rank or of text. If options may change the types of inputs and outputs, or if sizes of
// outputs may depend on data, a copy of the graph is converted at small sizes to find these types
// and the outputs NAME:shape (flow/specialize.h). In the first case, returns nothing if no such
// size is possible, or if the conversion changes names or ranks. Throws like select_outputs(),
// change_outputs() and fix_shapes(), unimplemented for an input of text and for an operator that is
// not supported, and invalid_argument if an input decides a size that needs option max_size, which
// the options do not contain. DriverOptions::check_stopped is called during this conversion.
std::optional<OpenModel> open_model(const ir::Graph& graph, const DriverOptions& options);

}  // namespace poprt::compiler

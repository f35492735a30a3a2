// Describes a model whose shapes the requests decide (program/open_shapes.h).
#pragma once

#include <optional>
#include <set>
#include <string>

#include "compiler/driver.h"
#include "ir/graph.h"
#include "program/open_shapes.h"

namespace poprt::compiler {

struct OpenModel {
  program::OpenShapes shapes;
  std::set<std::string> sized;  // the outputs NAME:shape in `shapes`, for Options::sized_outputs
  // Whether the options fix every size, so that one shape can be compiled before a request arrives.
  bool complete = false;
};

// Returns nothing if no size of an input is open, or if the sizes of a request cannot determine an
// executable: for a fused model, and for inputs of unknown rank, sequences and optionals. If
// options may change the types of inputs and outputs, if an output has no known rank or is text, or
// if sizes of outputs may depend on data, copies of the graph are converted at small sizes, and at
// those that the options fix, to find these types and the outputs NAME:shape
// (flow/specialize.h). If no such size is possible and only the outputs NAME:shape are needed, each
// output with a size that is no size of an input by name has one. Otherwise, or if names or ranks
// of inputs or outputs depend on the size, returns nothing if the options fix every size, and
// throws unimplemented if they do not. Throws like select_outputs(), change_outputs() and
// fix_shapes(), unimplemented for an input of text and for an operator that is not supported, and
// invalid_argument if an input decides a size that needs option max_size, which the options do not
// contain. DriverOptions::check_stopped is called during these conversions.
std::optional<OpenModel> open_model(const ir::Graph& graph, const DriverOptions& options);

}  // namespace poprt::compiler

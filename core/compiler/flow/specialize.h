// Resolves at compile time what a static device has not: control flow on constants, sequences,
// optionals, strings and sizes that depend on data.
//
// specialize() runs the graph with what is known. If on a constant condition becomes the branch
// taken; short loops, and all whose shapes change from round to round, are unrolled, Scan becomes
// Loop; sequences and optionals turn into the tensors they hold; strings are computed. What remains
// is tensors, If with branches of one type, and Loop with states of one type, which
// flatten_control_flow() lowers to conditional and repeated regions of the program.
//
// Containers at the interface. A sequence of n tensors NAME is n anchors NAME[0] ... NAME[n-1]; an
// optional is its element's anchors when present and none when absent. n, and whether an optional
// input is there, are known at compile time: Options::input_length or the number of input_shape
// entries NAME[k].
//
// Sizes that depend on data. NonZero, Unique, Compress, NonMaxSuppression and the scan outputs of a
// loop that ends early get their upper bound as static shape, and operators that read them take
// care of what is real (ops/bound.h). When such a value is the graph output NAME, an output
// "NAME:shape" (s64 [rank]) follows the others: how much of NAME, from its origin, is real; the
// rest is filling.
#pragma once

#include <map>
#include <string>

#include "compiler/compiler.h"
#include "compiler/declared_types.h"
#include "ir/graph.h"

namespace poprt::compiler {

inline constexpr std::string_view kShapeSuffix = ":shape";

// Replaces graph inputs that are sequences or optionals (poprt.ContainerInput nodes of the
// importer) by inputs that are tensors. Throws invalid_argument when a length is not known.
void expand_containers(ir::Graph& graph, const Options& options);

// Needs static input types. What nodes make must be as `declared`. Text that becomes a graph output
// leaves the graph: it goes to Options::constant_outputs, or is refused when that is null. Throws
// unimplemented naming the node and what must be constant, resource_exhausted when unrolling makes
// too many nodes. False when there was nothing to do.
bool specialize(ir::Graph& graph, const Options& options, const DeclaredTypes& declared = {});

// The compiler's last step before memory is planned: If and Loop become marked runs of nodes.
void flatten_control_flow(ir::Graph& graph);

// Graph inputs by what a program for them depends on, from nothing to everything: 0: text only;
// 1: also shapes, axes, counts, conditions ... that operators want as constants; 2: everything but
// the first input of each operator; 3: all.
inline constexpr int kFoldLevels = 4;

// Makes graph inputs of that level constants. Returns their names.
std::vector<std::string> fold_inputs(ir::Graph& graph, const std::map<std::string, Tensor>& values,
                                     int level);

}  // namespace poprt::compiler

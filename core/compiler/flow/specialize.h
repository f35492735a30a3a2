// Removes at compile time what a static device does not support: control flow on constants,
// sequences, optionals, strings and sizes that depend on data.
//
// specialize() executes the graph with the known values. If with a constant condition is replaced
// by its branch. Short loops, and loops whose shapes change between iterations, are unrolled, and
// Scan becomes Loop. Sequences and optionals become the tensors that they contain. Strings are
// computed. The result contains only tensors, If with branches of one type, and Loop with states of
// one type, which flatten_control_flow() lowers to conditional and repeated regions of the program.
//
// Containers as inputs and outputs: a sequence NAME of n tensors becomes n anchors NAME[0] ...
// NAME[n-1]. An optional becomes the anchors of its element if it is present, and none if it is
// absent. n, and whether an optional input is present, must be known at compile time: from
// Options::input_length or from the number of input_shape entries NAME[k] (for an optional, from an
// entry NAME).
//
// Sizes that depend on data: the results of NonZero, Unique, Compress and other operators with
// Facts::data_sized, and the scan outputs of a loop that ends early, get their upper bound as
// static shape, and their readers handle the real part (ops/bound.h). If such a value is the graph
// output NAME, an additional output "NAME:shape" (s64 [rank]) follows the other outputs. It
// contains the real sizes of NAME: along each axis the first places are real, and the others are
// padding. Options::sized_outputs adds it where the size is constant, too.
#pragma once

#include <map>
#include <string>

#include "compiler/compiler.h"
#include "compiler/declared_types.h"
#include "ir/graph.h"

namespace poprt::compiler {

inline constexpr std::string_view kShapeSuffix = ":shape";

// Whether the graph contains something that specialize() removes, so that an output may have a size
// that depends on data. Shapes need not be known.
bool may_have_real_sizes(const ir::Graph& graph);

// Replaces graph inputs that are sequences or optionals (poprt.ContainerInput nodes of the
// importer) by tensor inputs. Throws invalid_argument if a length is unknown.
void expand_containers(ir::Graph& graph, const Options& options);

// Requires static input types. Results of nodes must agree with `declared`. Graph outputs that are
// text are moved to Options::constant_outputs, or are errors if it is null. Throws unimplemented
// with the node and the value that must be constant, resource_exhausted if unrolling creates too
// many nodes or subgraphs are nested too deeply, and invalid_argument for a contradiction in the
// model. Returns whether the graph was rewritten. If nothing has to be removed, only nodes with
// state get an attribute.
bool specialize(ir::Graph& graph, const Options& options, const DeclaredTypes& declared = {});

// Turns If and Loop into marked ranges of nodes. It is the compiler's last step before memory is
// planned. Throws invalid_argument for a body with other numbers of inputs or outputs than its
// node, and unimplemented if types differ between branches or rounds.
void flatten_control_flow(ir::Graph& graph);

// The number of levels of fold_inputs(). The level decides which graph inputs become constants:
//   0  text
//   1  also shapes, axes, counts, conditions and other values that operators need as constants
//   2  also inputs on which any input of an operator except its first one depends
//   3  all
inline constexpr int kFoldLevels = 4;

// Makes the graph inputs of `level` that have an entry in `values` constants. Returns their names.
// Throws invalid_argument if a value has another element type than its input.
std::vector<std::string> fold_inputs(ir::Graph& graph, const std::map<std::string, Tensor>& values,
                                     int level);

}  // namespace poprt::compiler

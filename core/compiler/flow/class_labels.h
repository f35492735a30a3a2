// Text that a model chooses at run time: class labels that are strings.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"

namespace poprt::compiler {

// Name of the opaque blob, with the name of the output behind it, that has the class labels of an
// output: a JSON array of strings.
inline constexpr std::string_view kClassLabels = "class_labels/";

// The device has no strings: a classifier's labels (classlabels_strings), what LabelEncoder makes
// and what an index takes from a constant list become places in the list, as classlabels_int64s
// would have them, and the lists metadata of the graph, for outputs. Operators may hand labels on
// (Reshape, Where ...), compare them and look them up. Throws unimplemented when others read those
// of a classifier; other text that they read stays text.
void number_class_labels(ir::Graph& graph);

// By name of opaque blob.
std::map<std::string, std::string> class_labels_of(const ir::Graph& graph);

}  // namespace poprt::compiler

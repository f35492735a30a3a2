// Replaces text that a model chooses at run time, such as class labels, by numbers.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"

namespace poprt::compiler {

// Prefix of the opaque blob with the class labels of an output, followed by the output's name. The
// blob is a JSON array of strings.
inline constexpr std::string_view kClassLabels = "class_labels/";

// The device has no strings. A classifier's labels (classlabels_strings), the results of
// LabelEncoder, and texts selected by index from a constant list become indices into the list, as
// classlabels_int64s would give. The lists of outputs become metadata of the graph. Operators may
// return labels (Reshape, Where ...), compare them and look them up. Throws unimplemented if
// another operator reads the labels of a classifier. If another operator reads other texts, they
// stay text.
void number_class_labels(ir::Graph& graph);

// Returns the lists that number_class_labels() has stored in the metadata, as JSON texts by name of
// the opaque blob.
std::map<std::string, std::string> class_labels_of(const ir::Graph& graph);

}  // namespace poprt::compiler

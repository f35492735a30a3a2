// Classifiers of ai.onnx.ml whose class labels are strings.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"

namespace poprt::compiler {

// Name of the opaque blob, with the name of the output behind it, that has the class labels of an
// output: a JSON array of strings.
inline constexpr std::string_view kClassLabels = "class_labels/";

// The device has no strings: a classifier's labels (classlabels_strings) become their indices, as
// classlabels_int64s would have them, and the strings metadata of the graph. Throws unimplemented
// when other nodes read the labels.
void number_class_labels(ir::Graph& graph);

// By name of opaque blob.
std::map<std::string, std::string> class_labels_of(const ir::Graph& graph);

}  // namespace poprt::compiler

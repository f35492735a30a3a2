// The table of LabelEncoder of ai.onnx.ml.
#pragma once

#include "ir/graph.h"

namespace poprt::ops {

struct LabelTable {
  Tensor keys, values;  // equal counts, at least one
  Tensor fallback;      // one value, for elements that are not among the keys
};

// Reads keys_KIND and values_KIND, which are lists (KIND strings, int64s, floats) or tensors, and
// default_KIND. In opset 1, classes_strings contains the keys, and the values are their places.
// Throws invalid_argument naming the node.
LabelTable label_table(const ir::Node& node);

// The values for strings x, which only the compiler can look up. Throws invalid_argument naming the
// node if x or the keys are not strings, and unimplemented for values smaller than a byte.
Tensor encode_strings(const ir::Node& node, const Tensor& x);

}  // namespace poprt::ops

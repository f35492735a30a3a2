// The table of LabelEncoder of ai.onnx.ml.
#pragma once

#include "ir/graph.h"

namespace poprt::ops {

struct LabelTable {
  Tensor keys, values;  // equal counts, at least one
  Tensor fallback;      // one value, for elements that are not among the keys
};

// Reads keys_KIND, values_KIND and default_KIND, which are lists (KIND strings, int64s, floats) or
// tensors. Throws invalid_argument naming the node.
LabelTable label_table(const ir::Node& node);

// The values for strings x, which only the compiler can look up.
Tensor encode_strings(const ir::Node& node, const Tensor& x);

}  // namespace poprt::ops

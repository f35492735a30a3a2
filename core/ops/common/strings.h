// Operators on strings. The device has none: text is computed here, on constants, when a model is
// compiled.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace poprt::ops {

// True when the node reads or makes strings as far as its inputs' types tell (a Cast to string
// included).
bool is_about_strings(const ir::Node& node, std::span<const Tensor> inputs);

// Results of such a node for constant inputs (undefined tensors for omitted ones): Cast, CastLike,
// StringConcat, StringSplit, StringNormalizer, RegexFullMatch, LabelEncoder, and every operator
// that only moves, compares or sorts elements (Identity, Reshape, Gather, Concat, Where, Equal,
// Unique ...). Throws invalid_argument or unimplemented, naming the node.
std::vector<Tensor> evaluate_strings(const ir::Node& node, std::span<const Tensor> inputs);

}  // namespace poprt::ops

// Operators on strings. The device does not support strings, so text is computed from constants at
// compile time.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace poprt::ops {

// Whether a node of ai.onnx reads or produces strings according to the types of its inputs
// (including a Cast to string).
bool is_about_strings(const ir::Node& node, std::span<const Tensor> inputs);

// The results of such a node for constant inputs (undefined tensors for omitted ones): Cast,
// CastLike, StringConcat, StringSplit, StringNormalizer, RegexFullMatch, LabelEncoder, Tokenizer,
// and operators that only move, compare or count elements (Identity, Reshape, Gather, Concat,
// Where, Equal, Unique, TfIdfVectorizer ...). Throws invalid_argument, unimplemented, or
// resource_exhausted for results with too many strings, naming the node.
std::vector<Tensor> evaluate_strings(const ir::Node& node, std::span<const Tensor> inputs);

}  // namespace poprt::ops

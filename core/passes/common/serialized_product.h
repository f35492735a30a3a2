// Computes a product in parts, one after the other.
#pragma once

#include <string>
#include <string_view>

#include "passes/common/rewrite.h"

namespace poprt::passes {

enum class SerializeMode { none, input_channels, output_channels, reducing_dim };

// A parsed "FACTOR[/MODE[/KEEP]]".
struct Serialize {
  int64_t factor = 1;
  SerializeMode mode = SerializeMode::output_channels;
  bool keep_precision = false;  // for reducing_dim: parts of f16 are computed and added in f32
};
// Parses `text`. `word` is the word that contains it, for errors. Throws invalid_argument.
Serialize parse_serialize(std::string_view text, std::string_view word);

// Replaces `last` (a MatMul, or the Add of a constant bias to it) by the parts, and does nothing
// for mode none and factor 1. Throws invalid_argument unless the factor divides the dimension, and
// if an operand to be split is not static or has too few dimensions.
void serialize_product(ir::Node& matmul, ir::Node& last, ir::Value* bias, const Serialize& how);

}  // namespace poprt::passes

// Products computed in parts, one after the other.
#pragma once

#include <string>
#include <string_view>

#include "passes/common/rewrite.h"

namespace poprt::passes {

enum class SerializeMode { none, input_channels, output_channels, reducing_dim };

// "FACTOR[/MODE[/KEEP]]".
struct Serialize {
  int64_t factor = 1;
  SerializeMode mode = SerializeMode::output_channels;
  bool keep_precision = false;  // parts of a sum stay f32
};
// `word` is the whole of it, for errors. Throws invalid_argument.
Serialize parse_serialize(std::string_view text, std::string_view word);

// Puts the parts in the place of `last`, a MatMul or the Add of a constant bias behind it. Throws
// invalid_argument unless the factor divides the dimension.
void serialize_product(ir::Node& matmul, ir::Node& last, ir::Value* bias, const Serialize& how);

}  // namespace poprt::passes

// Whether two declared types of one value can both be correct.
#pragma once

#include <string>

#include "ir/graph.h"

namespace poprt::ir {

// A dimension or type that is unknown, or is only a name, agrees with everything.
bool shapes_agree(const Shape& a, const Shape& b);
bool types_agree(const ValueType& a, const ValueType& b);

// This prefix and the name of a value are a key of a graph's metadata, for a value that the model
// declares as a sequence or an optional. The text is "sequence T", "optional T" or
// "optional_sequence T", where T is the type_string() of the tensors inside.
inline const std::string kDeclaredContainer = "declared.";

}  // namespace poprt::ir

// Whether two statements about one value can both be true.
#pragma once

#include <string>

#include "ir/graph.h"

namespace poprt::ir {

// What either side does not know, or knows by a name only, agrees with anything.
bool shapes_agree(const Shape& a, const Shape& b);
bool types_agree(const ValueType& a, const ValueType& b);

// Metadata of a graph under this and the name of a value that a node makes: "sequence T", "optional
// T" or "optional_sequence T", where T is what type_string() says of the tensors inside.
inline const std::string kDeclaredContainer = "declared.";

}  // namespace poprt::ir

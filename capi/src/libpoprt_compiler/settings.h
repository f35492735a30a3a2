// Options of users' plug-ins.
#pragma once

#include <string_view>

#include "passes/common/custom.h"

namespace poprt::capi {

// Parses "{'Fwd0': ['Name', 'Other']}" in Python's syntax, or the same as JSON. Throws
// invalid_argument.
passes::TransformSettings parse_transforms(std::string_view text);

}  // namespace poprt::capi

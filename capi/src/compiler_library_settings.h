// What options of users' plug-ins say.
#pragma once

#include <string_view>

#include "passes/common/custom.h"

namespace poprt::capi {

// "{'Fwd0': ['Name', 'Other']}" as Python prints it, or the same as JSON. Throws invalid_argument.
passes::TransformSettings parse_transforms(std::string_view text);

}  // namespace poprt::capi

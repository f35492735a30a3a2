// Numbers from the environment.
#pragma once

#include <cstdint>
#include <optional>

namespace poprt::device {

// Empty when the variable is not set or is empty. Throws invalid_argument naming it when it is no
// whole number in [min, max].
std::optional<int64_t> environment_int(const char* name, int64_t min, int64_t max);

}  // namespace poprt::device

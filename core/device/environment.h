// Reads numbers from the environment.
#pragma once

#include <cstdint>
#include <optional>

namespace poprt::device {

// nullopt if the variable is unset or empty. Throws invalid_argument with its name in the message
// if it is not a whole number in [min, max].
std::optional<int64_t> environment_int(const char* name, int64_t min, int64_t max);

}  // namespace poprt::device

// Finds an anchor by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "program/program.h"

namespace poprt::runtime {

// Checks `hint` first, because callers mostly pass anchors in order. `direction` is "input" or
// "output". Throws not_found with the existing names in the message.
size_t find_anchor(std::span<const program::Anchor> anchors, std::string_view name, size_t hint,
                   std::string_view direction);

// Throws invalid_argument with the expected size, type and shape, and the actual size `found`.
[[noreturn]] void fail_wrong_size(const program::Anchor& anchor, uint64_t found,
                                  std::string_view direction);

}  // namespace poprt::runtime

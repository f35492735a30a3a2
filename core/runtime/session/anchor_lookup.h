// Finding an anchor by name, with an error that helps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "program/program.h"

namespace poprt::runtime {

// Looks at `hint` first: callers mostly give anchors in order. `direction` is "input" or "output".
// Throws not_found listing the names there are.
size_t find_anchor(std::span<const program::Anchor> anchors, std::string_view name, size_t hint,
                   std::string_view direction);

// Throws invalid_argument with expected and found bytes, dtype and shape.
[[noreturn]] void fail_wrong_size(const program::Anchor& anchor, uint64_t found,
                                  std::string_view direction);

}  // namespace poprt::runtime

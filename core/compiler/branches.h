// One executable of several: the models of a fused graph, or one model at several shapes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/compiler.h"

namespace poprt::compiler {

// What the runtime reads them by (runtime/session/branches.h).
inline constexpr const char* kBranches = "poprt.branches";

// Of models whose anchors have prefixes already, in their order, with the names that they had
// before. Throws invalid_argument.
Executable link_graphs(const std::vector<Executable>& parts, const std::vector<std::string>& names);

}  // namespace poprt::compiler

// Describes all passes as text and JSON.
#pragma once

#include <string>
#include <string_view>

#include "passes/pass.h"

namespace poprt::compiler {

// The stage in which a pass runs by default: "convert", "compile", "convert, compile" or "on
// request".
std::string_view stage_of(const passes::PassDef& pass);

// Returns all properties of all passes as a JSON array.
std::string passes_json();

}  // namespace poprt::compiler

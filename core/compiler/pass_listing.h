// What all passes are, for people and programs.
#pragma once

#include <string>
#include <string_view>

#include "passes/pass.h"

namespace poprt::compiler {

// Where a pass runs unless it is skipped: "convert", "compile", "convert, compile" or "when asked
// for".
std::string_view stage_of(const passes::PassDef& pass);

// All passes with everything that they state, as a JSON array.
std::string passes_json();

}  // namespace poprt::compiler

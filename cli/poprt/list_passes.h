// Implements --list_all_passes.
#pragma once

#include "common/option_table.h"

namespace poprt::cli {

// This pass compares two models, so it is an option of the command and a class in Python.
inline constexpr const char* kComparison = "layer_precision_compare";

// Prints one name per line with the effect of the pass, or all properties as JSON. Passes of
// scripts replace others of the same name, or come last.
void list_passes(const GivenOptions& given);

}  // namespace poprt::cli

// --list_all_passes.
#pragma once

#include "common/option_table.h"

namespace poprt::cli {

// A pass of two models: an option here, a class in Python.
inline constexpr const char* kComparison = "layer_precision_compare";

// One name a line with what the pass does, or all that is known of them as JSON. Those of scripts
// take the place of others of their name, or come last.
void list_passes(const GivenOptions& given);

}  // namespace poprt::cli

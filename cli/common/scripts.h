// --custom_pass_config and --custom_shape_inference: Python files that register passes and shape
// functions. If they are given, package poprt converts the model in a separate interpreter
// (bindings/python/poprt/_scripts.py), and this process compiles the converted model.
#pragma once

#include <string>
#include <vector>

#include "common/option_table.h"

namespace poprt::cli {

bool has_scripts(const GivenOptions& given);

struct ScriptPass {
  std::string name, summary;
};
// Returns the passes that the scripts register. Throws Failure with one line if Python or the
// package is missing, or a script fails, and Usage if the package reports wrong usage.
std::vector<ScriptPass> passes_of_scripts(const GivenOptions& given);

// Converts with the default passes and then those of --passes. Throws like passes_of_scripts(), and
// writes no file then.
void convert_with_scripts(const GivenOptions& given, const std::string& source,
                          const std::string& target);

// Returns the options for the library without --passes, and without the names in --skip_passes that
// the library does not know, because they may be those of scripts.
NamedOptions options_with_scripts(const GivenOptions& given);
// Returns the options for the library that compile the converted model. Options whose effect is
// complete in that model are left out; acts_after_conversion() decides that.
NamedOptions options_after_scripts(const GivenOptions& given);
// Throws Usage if an input has several shapes. A converted model has only the last one.
void check_shapes_of_scripts(const GivenOptions& given);

}  // namespace poprt::cli

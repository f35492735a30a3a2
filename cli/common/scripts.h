// --custom_pass_config and --custom_shape_inference: files in Python that register passes and shape
// functions. With them a model is converted by package poprt in an interpreter of its own
// (bindings/python/poprt/_scripts.py), and what that wrote is compiled here.
#pragma once

#include <string>
#include <vector>

#include "common/option_table.h"

namespace poprt::cli {

bool has_scripts(const GivenOptions& given);

struct ScriptPass {
  std::string name, summary;
};
// The passes that the scripts register; none without scripts. Throws Failure, one line, when there
// is no Python, no package, or a script fails.
std::vector<ScriptPass> passes_of_scripts(const GivenOptions& given);

// Converts with the default passes, and those of --passes behind them. Throws the same; then there
// is no new file.
void convert_with_scripts(const GivenOptions& given, const std::string& source,
                          const std::string& target);

// What the library is told when scripts have the passes: it does not know those of --passes and
// --skip_passes.
NamedOptions options_beside_scripts(const GivenOptions& given);
// The same for compiling what they wrote: what has been done to the model is not done to it again.
NamedOptions options_behind_scripts(const GivenOptions& given);

}  // namespace poprt::cli

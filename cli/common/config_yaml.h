// --config_yaml: options by their names, from a file that nobody has to trust.
#pragma once

#include <string>
#include <vector>

#include "common/option_table.h"

namespace poprt::cli {

// Adds the options of the file. The models of a list model_fusion: each has its own options and
// those outside of the list, where it does not say another. Throws Usage: no YAML, an unknown name,
// a value of another kind, aliases, tags, more than one document, 1 MiB, or four levels below an
// option.
std::vector<GivenOptions> read_config_yaml(const std::string& path, GivenOptions& options);

// Adds what a file of --manual_sharding_config says, as options sharding_info and pipelining_info:
// a list of maps with node, and device or stage or both. Throws Usage as above.
void read_sharding_yaml(const std::string& path, GivenOptions& options);

}  // namespace poprt::cli

// --config_yaml: reads options by name from a file. The file is untrusted.
#pragma once

#include <string>
#include <vector>

#include "common/option_table.h"

namespace poprt::cli {

// Adds the options of the file to `options`. Returns the models of a list model_fusion: each has
// its own options, and those outside of the list that it does not set. Throws Usage for text that
// is not YAML, an unknown name, a value of the wrong kind, aliases, tags, several documents, more
// than 1 MiB, and more than four levels below an option, and Failure if the file cannot be read.
std::vector<GivenOptions> read_config_yaml(const std::string& path, GivenOptions& options);

// Returns the message of an error of an option, "--NAME: ...", with the file and the line if
// read_config_yaml() has read the option outside of model_fusion.
std::string with_yaml_line(const std::string& message);

// Adds the contents of a --manual_sharding_config file as options sharding_info and
// pipelining_info. The file is a list of maps with a node, and a device, a stage or both. Throws
// Usage if `options` has one of these options, and as above.
void read_sharding_yaml(const std::string& path, GivenOptions& options);

}  // namespace poprt::cli

// Implements --show and --show_io_stat.
#pragma once

#include <string>

#include "common/abi.h"
#include "common/option_table.h"

namespace poprt::cli {

// Prints the properties of a model that the options select.
void show_model(const GivenOptions& given, const poprt_compiler* compiler,
                const std::string& input);

}  // namespace poprt::cli

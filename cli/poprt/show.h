// --show and --show_io_stat.
#pragma once

#include <string>

#include "common/abi.h"
#include "common/option_table.h"

namespace poprt::cli {

// Prints what the options ask for of a model.
void show_model(const GivenOptions& given, const poprt_compiler* compiler,
                const std::string& input);

}  // namespace poprt::cli

// The converted model.
#pragma once

#include <string>

#include "common/abi.h"
#include "common/option_table.h"

namespace poprt::cli {

// Where the converted model goes. Throws Failure when that is its source.
std::string converted_path(const GivenOptions& given, const std::string& input);

// Writes the converted model. Returns what is compiled: the source, or what scripts have made of
// it.
std::string convert(const GivenOptions& given, const poprt_compiler* compiler,
                    const std::string& input, const std::string& converted);

}  // namespace poprt::cli

// Writes the converted model.
#pragma once

#include <string>

#include "common/abi.h"
#include "common/option_table.h"

namespace poprt::cli {

// Returns the path of the converted model. Throws Failure if it is the source.
std::string converted_path(const GivenOptions& given, const std::string& input);

// Writes the converted model. Returns the model to compile: the source, or the result of scripts.
std::string convert(const GivenOptions& given, const poprt_compiler* compiler,
                    const std::string& input, const std::string& converted);

}  // namespace poprt::cli

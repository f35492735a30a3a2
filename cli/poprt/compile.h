// Converts, compiles and runs one model according to the options.
#pragma once

#include "common/option_table.h"

namespace poprt::cli {

// Throws Usage and Failure.
void convert_and_compile(const GivenOptions& given);

}  // namespace poprt::cli

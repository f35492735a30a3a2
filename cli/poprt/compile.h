// One model: converted, compiled and run as the options say.
#pragma once

#include "common/option_table.h"

namespace poprt::cli {

void convert_and_compile(const GivenOptions& given);

}  // namespace poprt::cli

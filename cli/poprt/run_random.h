// --run: runs an executable with random inputs and prints how fast it is.
#pragma once

#include <string>

#include "common/abi.h"

namespace poprt::cli {

// Anchors whose names begin with `prefix`, with random inputs.
void run_random(poprt_runner* runner, const std::string& prefix);
void run_random(const poprt_executable* executable);

}  // namespace poprt::cli

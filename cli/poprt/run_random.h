// --run: runs an executable with random inputs and prints its speed.
#pragma once

#include <string>

#include "common/abi.h"

namespace poprt::cli {

// Uses the anchors whose names start with `prefix`.
void run_random(poprt_runner* runner, const std::string& prefix);
void run_random(const poprt_executable* executable);

}  // namespace poprt::cli

// --run: runs an executable with random inputs and prints its speed.
#pragma once

#include <string>

#include "common/abi.h"
#include "common/option_table.h"

namespace poprt::cli {

// Runs with the inputs and outputs whose names start with `prefix`.
void run_random(poprt_runner* runner, const std::string& prefix);
// `joins_inputs`: with the original inputs of a model with joined ones (--apply_hcsr).
void run_random(const poprt_executable* executable, bool joins_inputs);

// Estimates the model on a chip if --ipu_version, --estimate_target or --estimate is given; else
// returns null.
Estimate estimate_of(const GivenOptions& given, const poprt_compiler* compiler,
                     const std::string& model);

// Prints what the model costs on the chip, after the measured numbers of the host. Prints nothing
// for null.
void print_estimate(const poprt_estimate* estimate);

}  // namespace poprt::cli

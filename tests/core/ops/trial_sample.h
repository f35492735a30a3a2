// Uses of operators that have no sample: the trials of the operators (ops/trial.h).
#pragma once

#include <vector>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {

// One for each operator that has no sample but a trial without text; made once in a process.
const std::vector<Sample>& trial_samples();

}  // namespace poprt::ops::sampled

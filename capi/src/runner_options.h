// Runner options of the C ABI as the runtime's configuration.
#pragma once

#include "guard.h"
#include "runtime/runner/runner_plan.h"

namespace poprt::capi {

// Throws invalid_argument. Null is all defaults.
runtime::RunnerConfig read_runner_options(const poprt_runner_options* options);

}  // namespace poprt::capi

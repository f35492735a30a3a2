// Runner options of the C ABI as the runtime's configuration.
#pragma once

#include "guard.h"
#include "runtime/runner/runner_plan.h"
#include "runtime/session/model.h"

namespace poprt::capi {

// For a runner of `model`. Throws invalid_argument, and failed_precondition where the model cannot
// be run as they say. Null is all defaults.
runtime::RunnerConfig read_runner_options(const poprt_runner_options* options,
                                          const runtime::Model& model);

}  // namespace poprt::capi

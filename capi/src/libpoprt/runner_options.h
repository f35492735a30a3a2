// Converts runner options of the C ABI to the runtime's configuration.
#pragma once

#include "guard.h"
#include "runtime/runner/runner_plan.h"
#include "runtime/session/model.h"

namespace poprt::capi {

// Reads the options for a runner of `model`. Null means all defaults. Throws invalid_argument, and
// failed_precondition if the model cannot run with them.
runtime::RunnerConfig read_runner_options(const poprt_runner_options* options,
                                          const runtime::Model& model);

}  // namespace poprt::capi

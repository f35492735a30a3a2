// Converts runner options of the C ABI to the runtime's configuration.
#pragma once

#include "guard.h"
#include "runtime/runner/runner_plan.h"
#include "runtime/session/model.h"

namespace poprt::capi {

// Reads the options for a runner of `model`. Null means all defaults. Verifies the model or
// replaces it by a copy if the options request it. Throws invalid_argument, not_found for the
// device of a replica that cannot exist, failed_precondition if the model cannot run with them, and
// data_loss if its file is damaged.
runtime::RunnerConfig read_runner_options(const poprt_runner_options* options,
                                          std::shared_ptr<const runtime::Model>& model);

}  // namespace poprt::capi

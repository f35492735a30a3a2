// Converts runner options of the C ABI to the runtime's configuration.
#pragma once

#include "guard.h"
#include "runtime/runner/runner_plan.h"
#include "runtime/runner/shape_runner.h"
#include "runtime/session/model.h"

namespace poprt::capi {

// Reads the options for a runner of `model`. Null means all defaults. If the options request it,
// verifies the model, or replaces it by a copy or by one whose weights are packed for another
// precision. Throws invalid_argument, not_found for the device of a replica that cannot exist,
// failed_precondition if the model cannot run with them, and data_loss if its file is damaged.
runtime::RunnerConfig read_runner_options(const poprt_runner_options* options,
                                          std::shared_ptr<const runtime::Model>& model);

// Reads the options for a runner that compiles shapes on demand: those of read_runner_options(),
// the number of shapes that it keeps, and the bytes that they may need (0: no limit; negative: half
// of the memory of the computer or of the control group). Throws the same errors.
runtime::ShapeRunnerConfig read_shape_runner_options(const poprt_runner_options* options,
                                                     std::shared_ptr<const runtime::Model>& model);

}  // namespace poprt::capi

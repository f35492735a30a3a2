// The profile of runners and sessions as JSON.
#pragma once

#include <vector>

#include "device/device.h"
#include "handles.h"

namespace poprt::capi {

// Returns the JSON that poprt_runner_profile documents.
poprt_string* make_profile(const std::vector<device::InstructionProfile>& rows);

}  // namespace poprt::capi

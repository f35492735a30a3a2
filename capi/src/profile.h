// What a runner's and a session's profile looks like to users.
#pragma once

#include <vector>

#include "device/device.h"
#include "handles.h"

namespace poprt::capi {

// The JSON that poprt_runner_profile promises.
poprt_string* make_profile(const std::vector<device::InstructionProfile>& rows);

}  // namespace poprt::capi

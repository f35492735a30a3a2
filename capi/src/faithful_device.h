// Runners with faithful numerics: a device whose runs the compiler's interpreter computes.
#pragma once

#include <memory>
#include <string_view>

#include "device/device.h"
#include "runtime/session/model.h"

namespace poprt::capi {

// Of option numerics; throws invalid_argument for another word.
enum class Numerics { fast, faithful, saturating };
Numerics numerics_named(std::string_view word);

// A device for this model alone, which nobody else can get. Throws failed_precondition when the
// executable was not compiled for it.
std::shared_ptr<device::Device> faithful_device(const runtime::Model& model, Numerics numerics);

}  // namespace poprt::capi

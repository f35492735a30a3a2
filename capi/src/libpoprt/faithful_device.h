// Runners with faithful numerics: a device that computes with the compiler's interpreter.
#pragma once

#include <memory>
#include <string_view>

#include "device/device.h"
#include "runtime/session/model.h"

namespace poprt::capi {

// Parses option numerics. Throws invalid_argument for another word.
enum class Numerics { fast, faithful, saturating };
Numerics numerics_named(std::string_view word);

// Creates a device for this model, which other runners cannot acquire. Throws failed_precondition
// if the executable was not compiled for it.
std::shared_ptr<device::Device> faithful_device(const runtime::Model& model, Numerics numerics);

}  // namespace poprt::capi

// Runners with faithful numerics: a device that computes with the compiler's interpreter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "device/device.h"
#include "runtime/session/model.h"

namespace poprt::capi {

struct Numerics {
  bool faithful = false;         // false: fast
  bool saturate = false;         // halves that overflow become the largest number
  std::optional<uint64_t> seed;  // if set, rounding is stochastic and begins with it
};
// Parses option numerics: fast, faithful, saturating, or one of the last two with ":SEED". Throws
// invalid_argument for another word.
Numerics numerics_named(std::string_view word);

// Creates a device for this model, which other runners cannot acquire. Throws failed_precondition
// if the executable was not compiled for it.
std::shared_ptr<device::Device> faithful_device(const runtime::Model& model,
                                                const Numerics& numerics);

}  // namespace poprt::capi

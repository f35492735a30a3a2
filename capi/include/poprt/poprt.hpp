// A header-only C++17 wrapper of the C ABI, with the names of PopRT's C++ API.
//
// Objects share the objects from which they are made, so they may be destroyed in any order.
// Functions that can fail throw poprt::Error. Thread safety is that of the C functions.
#pragma once
#include <cstdint>
#include <string>

#include "poprt/anchor.hpp"
#include "poprt/compiler.hpp"
#include "poprt/device.hpp"
#include "poprt/error.hpp"
#include "poprt/executable.hpp"
#include "poprt/generator.hpp"
#include "poprt/log.hpp"
#include "poprt/passes.hpp"
#include "poprt/plugins.hpp"
#include "poprt/popef.hpp"
#include "poprt/poprt.h"
#include "poprt/run.hpp"
#include "poprt/runner.hpp"
#include "poprt/runners.hpp"
#include "poprt/session.hpp"
#include "poprt/tensor.hpp"

namespace poprt {
inline namespace v1 {

inline int32_t version() { return poprt_version(); }
inline std::string versionString() { return poprt_version_string(); }

}  // namespace v1
}  // namespace poprt

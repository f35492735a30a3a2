// The functions that init() of a plug-in may call, and checks of the objects that it adds.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "plugins/registry.h"
#include "plugins/report.h"

namespace poprt::plugins {

// Calls init(). Throws the error that it reports, an exception that it threw, and errors in the
// objects that it adds.
void initialize(const poprt_plugin& plugin, Library& library);

bool is_same_operator(const poprt_operator& a, const poprt_operator& b);

// Access to the registry for the loader. add() has no effect if the path is registered, and throws
// already_exists if a name is in use. find_path() returns null for an unknown path.
void add(std::unique_ptr<const Library> library);
const Library* find_path(std::string_view path);

// Writes to poprt's log on behalf of a plug-in.
void write_log(int32_t level, const char* message) noexcept;

}  // namespace poprt::plugins

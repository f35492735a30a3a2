// What init() of a library may call, and how what it adds is checked.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "plugins/registry.h"
#include "plugins/report.h"

namespace poprt::plugins {

// Calls init(). Throws what it says, what is wrong with what it adds, and what it threw.
void initialize(const poprt_plugin& plugin, Library& library);

bool is_same_operator(const poprt_operator& a, const poprt_operator& b);

// To and from the registry, for the loader. add() throws already_exists.
void add(std::unique_ptr<const Library> library);
const Library* find_path(std::string_view path);

// poprt's log, for hosts.
void write_log(int32_t level, const char* message) noexcept;

}  // namespace poprt::plugins

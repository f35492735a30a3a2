// Calls of functions that plug-ins bring along: what goes wrong there becomes an Error.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "poprt/plugin.h"

namespace poprt::plugins {

// What a plug-in has said by fail().
struct Report {
  bool failed = false;
  int32_t code = 0;
  std::string message;

  // As printf; the first line counts. Returns the code. Never throws.
  int32_t set(int32_t code, const char* format, std::va_list arguments) noexcept;
  int32_t set(ErrorCode code, std::string_view message) noexcept;
};

// Makes exceptions of a plug-in catchable by this library, which may have a C++ run time of its own
// inside: see report.cpp. Cheap after the first call.
void prepare_to_catch();

// Throws what `report` says, or what a returned `code` means.
void check(const Report& report, int32_t code, std::string_view what);

// `what` is who is called, for messages: "infer of operator org.example.Twice".
template <class F>
int32_t caught(Report& report, F&& call) noexcept {
  try {
    return call();
  } catch (const std::exception& e) {
    return report.set(ErrorCode::internal, std::string("threw an exception: ") + e.what());
  } catch (...) {
    return report.set(ErrorCode::internal, "threw an exception that is no std::exception");
  }
}

template <class F>
void call(Report& report, std::string_view what, F&& function) {
  prepare_to_catch();
  check(report, caught(report, function), what);
}

}  // namespace poprt::plugins

// Calls functions of plug-ins, and converts their failures to Error.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "poprt/plugin.h"

namespace poprt::plugins {

// The first failure of a call of a plug-in: one that it reported with fail(), an error of a
// function of the host, or an exception.
struct Report {
  bool failed = false;
  int32_t code = 0;
  std::string message;

  // Both functions store the failure if there is none yet, with the first line of the message only,
  // and return the given code. The first one is like printf, with at most 1023 bytes. They do not
  // throw.
  int32_t set(int32_t code, const char* format, std::va_list arguments) noexcept;
  int32_t set(ErrorCode code, std::string_view message) noexcept;
};

// Makes exceptions of a plug-in catchable by this library, which may contain a separate C++ run
// time: see report.cpp. Calls after the first one are cheap.
void prepare_to_catch();

// Throws the failure in `report`, or an error for a returned non-zero `code`.
void check(const Report& report, int32_t code, std::string_view what);

// `what` names the function in messages, such as "infer of operator org.example.Twice".
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

#include "plugins/report.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>

namespace poprt::plugins {

int32_t Report::set(int32_t new_code, const char* format, std::va_list arguments) noexcept {
  char line[1024];
  if (!format || std::vsnprintf(line, sizeof line, format, arguments) < 0) line[0] = 0;
  return set(static_cast<ErrorCode>(new_code), line);
}

int32_t Report::set(ErrorCode new_code, std::string_view text) noexcept {
  const auto number = static_cast<int32_t>(new_code);
  if (failed) return number;  // the first failure is the cause
  failed = true;
  code = number;
  try {
    message = text.substr(0, std::min(text.find('\n'), text.size()));
  } catch (const std::bad_alloc&) {
    message.clear();
  }
  return number;
}

// libpoprt contains a copy of GCC's unwinder, and a plug-in throws with another copy. Both describe
// frames in the same way, but a handler needs the table of register sizes of our copy, which our
// copy initialises when it throws for the first time.
void prepare_to_catch() {
  static std::atomic<bool> done{false};
  if (done.load(std::memory_order_acquire)) return;
  try {
    throw 0;
  } catch (int) {
    done.store(true, std::memory_order_release);
  }
}

void check(const Report& report, int32_t code, std::string_view what) {
  const bool known = report.code > 0 && report.code <= static_cast<int32_t>(ErrorCode::data_loss);
  if (report.failed)
    fail(known ? static_cast<ErrorCode>(report.code) : ErrorCode::unknown, "{}: {}", what,
         report.message.empty() ? "failed without a message" : report.message);
  if (code == 0) return;
  const bool named = code > 0 && code <= static_cast<int32_t>(ErrorCode::data_loss);
  fail(named ? static_cast<ErrorCode>(code) : ErrorCode::unknown,
       "{}: returned {} without a message", what, code);
}

}  // namespace poprt::plugins

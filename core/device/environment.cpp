#include "device/environment.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/error.h"

namespace poprt::device {

std::optional<int64_t> environment_int(const char* name, int64_t min, int64_t max) {
  const char* text = std::getenv(name);
  if (!text || !*text) return std::nullopt;
  const std::string_view view = text;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size() || value < min || value > max)
    fail(ErrorCode::invalid_argument, "environment variable {}='{}' must be a number from {} to {}",
         name, view, min, max);
  return value;
}

}  // namespace poprt::device

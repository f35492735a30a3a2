#include "passes/common/precision_parameters.h"

#include <charconv>

#include "base/error.h"

namespace poprt::passes {
namespace {

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.push_back(part);
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

DType parse_name(std::string_view name, std::string_view what, std::string_view text) {
  if (name == "F143") return DType::f8_143;
  if (name == "F152") return DType::f8_152;
  fail(ErrorCode::invalid_argument, "{}: expected the format F143 or F152, found '{}' in '{}'",
       what, name, text);
}

int parse_scale(std::string_view number, std::string_view what, std::string_view text) {
  int scale = 0;
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, scale);
  if (number.empty() || error != std::errc() || stop != end || scale < kLeastQuarterScale ||
      scale > kMostQuarterScale)
    fail(ErrorCode::invalid_argument,
         "{}: expected a scale, a whole number from {} to {}, found '{}' in '{}'", what,
         kLeastQuarterScale, kMostQuarterScale, number, text);
  return scale;
}

}  // namespace

std::string_view quarter_name(DType dtype) { return dtype == DType::f8_152 ? "F152" : "F143"; }

QuarterFormat parse_quarter_format(std::string_view text, std::string_view what) {
  const auto parts = split(text);
  if (parts.size() != 2)
    fail(ErrorCode::invalid_argument, "{}: expected FORMAT,SCALE, for example F143,-1, found '{}'",
         what, text);
  return {parse_name(parts[0], what, text), parse_scale(parts[1], what, text)};
}

QuarterFormats parse_fp8_params(std::string_view text, std::string_view what) {
  const auto parts = split(text);
  if (parts.size() != 4)
    fail(ErrorCode::invalid_argument,
         "{}: expected INPUT_FORMAT,WEIGHT_FORMAT,INPUT_SCALE,WEIGHT_SCALE, for example "
         "F143,F143,-1,-1, found '{}'",
         what, text);
  return {{parse_name(parts[0], what, text), parse_scale(parts[2], what, text)},
          {parse_name(parts[1], what, text), parse_scale(parts[3], what, text)}};
}

}  // namespace poprt::passes

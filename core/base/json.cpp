#include "base/json.h"

namespace poprt {
namespace {

// The library copies, compares and prints values by recursion, so a text that nests deeper would
// overflow the stack of a thread.
constexpr size_t kMostDepth = 1000;

// Whether lists and objects of the text nest deeper than kMostDepth. The text need not be JSON.
bool is_too_deep(std::string_view text) {
  size_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') i++;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMostDepth) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      depth--;
    }
  }
  return false;
}

template <class Json>
Json parse(std::string_view text) {
  if (is_too_deep(text))
    throw nlohmann::json::parse_error::create(
        101, size_t{0}, fmt::format("lists or objects nest deeper than {}", kMostDepth), nullptr);
  return Json::parse(text);
}

template <class Json>
Json try_parse(std::string_view text) {
  return is_too_deep(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
}

}  // namespace

nlohmann::json parse_json(std::string_view text) { return parse<nlohmann::json>(text); }

nlohmann::ordered_json parse_ordered_json(std::string_view text) {
  return parse<nlohmann::ordered_json>(text);
}

nlohmann::json try_parse_json(std::string_view text) { return try_parse<nlohmann::json>(text); }

nlohmann::ordered_json try_parse_ordered_json(std::string_view text) {
  return try_parse<nlohmann::ordered_json>(text);
}

std::string json_text(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace poprt

#include "settings.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace poprt::capi {

passes::TransformSettings parse_transforms(std::string_view text) {
  std::string json(text);
  std::ranges::replace(json, '\'', '"');
  const auto parsed = try_parse_json(json);
  const auto is_text = [](const auto& item) { return item.is_string(); };
  const auto is_list = [&](const auto& item) {
    return item.is_array() && std::ranges::all_of(item, is_text);
  };
  if (!parsed.is_object() || !std::ranges::all_of(parsed, is_list))
    fail(ErrorCode::invalid_argument,
         "custom_transform_applier_settings: expected {{'CHECKPOINT': ['TRANSFORM', ...]}}, found "
         "'{}'",
         text);
  passes::TransformSettings settings;
  for (const auto& [given, names] : parsed.items()) {
    // A part of PopRT's manual has this spelling.
    const std::string checkpoint = given == "Prealias" ? "PreAlias" : given;
    for (const auto& name : names) settings[checkpoint].push_back(name.get<std::string>());
  }
  return settings;
}

}  // namespace poprt::capi

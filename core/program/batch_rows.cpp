#include "program/batch_rows.h"

#include "base/error.h"
#include "base/json.h"

namespace poprt::program {

std::string note_of_batch_rows(const std::vector<BatchRows>& axes) {
  using Json = nlohmann::ordered_json;
  Json note = Json::array();
  for (const BatchRows& a : axes) {
    Json entry = {{"axis", a.axis}, {"rows", a.rows}, {"inputs", a.inputs}};
    if (!a.mixed.empty()) entry["mixed"] = a.mixed;
    note.push_back(std::move(entry));
  }
  return json_text(note);
}

std::vector<BatchRows> read_batch_rows(std::string_view note) {
  std::vector<BatchRows> axes;
  try {
    for (const auto& entry : parse_ordered_json(note)) {
      BatchRows a;
      const int64_t axis = whole_number(entry.at("axis"));
      if (axis < 0 || axis > int64_t{UINT32_MAX})
        fail(ErrorCode::data_loss, "opaque blob '{}': there is no axis {}", kBatchRows, axis);
      a.axis = static_cast<uint32_t>(axis);
      a.rows = whole_number(entry.at("rows"));
      a.inputs = entry.at("inputs").get<std::vector<std::string>>();
      if (entry.contains("mixed")) a.mixed = entry["mixed"];
      axes.push_back(std::move(a));
    }
  } catch (const nlohmann::json::exception& e) {
    fail(ErrorCode::data_loss, "opaque blob '{}': {}", kBatchRows, e.what());
  }
  return axes;
}

}  // namespace poprt::program

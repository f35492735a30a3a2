// The table of options for the command, the other languages and docs/options.md.
#include <cmath>

#include "base/json.h"
#include "poprt_options.h"

namespace poprt::capi {
namespace {

using Json = nlohmann::ordered_json;

Json list(std::string_view words) {
  Json all = Json::array();
  while (!words.empty()) {
    const size_t end = std::min(words.find(','), words.size());
    all.push_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return all;
}

// Writes a row; empty fields are omitted.
template <class Row>
void add_common(Json& j, const Row& row) {
  j["kind"] = kind_name(row.kind);
  j["effect"] = effect_name(row.effect);
  if (!row.note.empty()) j["note"] = row.note;
  if (!row.standard.empty()) j["default"] = row.standard;
  if (!row.choices.empty()) j["choices"] = list(row.choices);
  if (std::isfinite(row.least)) j[row.above_least ? "above" : "least"] = row.least;
  if (std::isfinite(row.most)) j["most"] = row.most;
}

Json describe(const OptionRow& row) {
  Json j = {{"name", row.name}, {"group", row.group}, {"help", row.help}};
  if (!row.value.empty()) j["value"] = row.value;
  add_common(j, row);
  if (!row.unavailable.empty()) j["unavailable"] = list(row.unavailable);
  if (!row.aliases.empty()) j["aliases"] = list(row.aliases);
  if (!row.since.empty()) j["since"] = row.since;
  j["command"] = row.command;
  if (row.executable) j["executable"] = true;
  if (!row.needs.empty()) j["needs"] = row.needs;
  if (!row.goes_with.empty()) j["goes_with"] = row.goes_with;
  return j;
}

}  // namespace

std::string options_json() {
  Json j;
  j["options"] = Json::array();
  for (const OptionRow& row : poprt_options()) j["options"].push_back(describe(row));
  j["tf2onnx"] = Json::array();
  for (const OptionRow& row : tf2onnx_table()) j["tf2onnx"].push_back(describe(row));
  j["compiler_options"] = Json::array();
  for (const FieldRow& row : compiler_fields()) {
    Json field = {{"name", row.name}};
    add_common(field, row);
    j["compiler_options"].push_back(field);
  }
  j["popart_options"] = Json::array();
  for (const std::string_view name : popart_fields()) j["popart_options"].push_back(name);
  return json_text(j);
}

}  // namespace poprt::capi

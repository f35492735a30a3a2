#include "model/overlay.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/json.h"
#include "model/format.h"

namespace poprt::inspector {
namespace {

using Pairs = std::vector<std::pair<std::string, double>>;

constexpr uint64_t kLargestFile = uint64_t{1} << 28;

std::string_view trimmed(std::string_view text) {
  const char* const blanks = " \t\r";
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::optional<double> number_in(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The name is everything before the last comma, because names of nodes may contain commas. It may
// be in quotes.
Pairs read_csv(const std::string& text, const std::string& path) {
  Pairs pairs;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trimmed(std::string_view(text).substr(at, end - at));
    at = end + 1;
    number++;
    if (line.empty()) continue;
    const size_t comma = line.rfind(',');
    const auto value = comma == line.npos ? std::nullopt : number_in(line.substr(comma + 1));
    if (!value) {
      if (number == 1 && comma != line.npos) continue;  // the header
      fail(ErrorCode::data_loss, "{}:{}: expected NODE,VALUE, found '{}'", path, number,
           shortened(printable(std::string(line)), 60));
    }
    std::string_view name = trimmed(line.substr(0, comma));
    if (name.size() > 1 && name.front() == '"' && name.back() == '"')
      name = name.substr(1, name.size() - 2);
    pairs.emplace_back(printable(std::string(name)), *value);
  }
  return pairs;
}

Pairs read_json(const std::string& text, const std::string& path) {
  const nlohmann::json json = try_parse_json(text);
  Pairs pairs;
  const auto add = [&](const std::string& name, const nlohmann::json& value) {
    if (!value.is_number())
      fail(ErrorCode::data_loss, "{}: expected a number for '{}', found {}", path,
           shortened(printable(name), 60), value.type_name());
    pairs.emplace_back(printable(name), value.get<double>());
  };
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) add(name, value);
    return pairs;
  }
  if (!json.is_array())
    fail(ErrorCode::data_loss,
         "{}: expected a JSON object of nodes and numbers, or an array of objects with \"node\" "
         "and \"value\"",
         path);
  for (size_t i = 0; i < json.size(); i++) {
    const nlohmann::json& item = json[i];
    const char* const key = item.is_object() && item.contains("node") ? "node" : "name";
    if (!item.is_object() || !item.contains(key) || !item[key].is_string() ||
        !item.contains("value"))
      fail(ErrorCode::data_loss, "{}: element {} has no \"node\" and \"value\"", path, i);
    add(item[key].get<std::string>(), item["value"]);
  }
  return pairs;
}

}  // namespace

size_t Overlay::count() const {
  return static_cast<size_t>(
      std::count_if(values.begin(), values.end(), [](double v) { return !std::isnan(v); }));
}

bool is_overlay_file(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  return ending == ".json" || ending == ".csv";
}

Overlay overlay_of(std::string name, const Pairs& pairs, const GraphModel& graph) {
  Overlay overlay;
  overlay.name = std::move(name);
  overlay.values.assign(graph.nodes().size(), std::numeric_limits<double>::quiet_NaN());
  std::unordered_map<std::string_view, int> terminals;
  std::unordered_map<std::string_view, size_t> operators;
  for (size_t i = 0; i < graph.nodes().size(); i++)
    if (graph.nodes()[i].kind != NodeKind::op)
      terminals.emplace(graph.nodes()[i].name, static_cast<int>(i));
    else
      operators[graph.nodes()[i].name]++;
  bool any = false;
  for (const auto& [node, value] : pairs) {
    if (const auto called = operators.find(node); called != operators.end() && called->second > 1) {
      overlay.shared.push_back(node);
      continue;
    }
    int found = graph.node_of_instruction(node);
    if (found == kNone)
      if (const auto terminal = terminals.find(node); terminal != terminals.end())
        found = terminal->second;
    if (found == kNone) {
      overlay.unknown.push_back(node);
      continue;
    }
    overlay.values[static_cast<size_t>(found)] = value;
    if (std::isnan(value)) overlay.nans++;
    if (!std::isfinite(value)) continue;
    overlay.least = any ? std::min(overlay.least, value) : value;
    overlay.most = any ? std::max(overlay.most, value) : value;
    any = true;
  }
  return overlay;
}

Overlay read_overlay(const std::filesystem::path& path, const GraphModel& graph) {
  const std::string shown = printable(path.string());
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (error) fail(ErrorCode::not_found, "{}: {}", shown, error.message());
  if (bytes > kLargestFile)
    fail(ErrorCode::resource_exhausted, "{} has {}, at most {} are read", shown, bytes_text(bytes),
         bytes_text(kLargestFile));
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const bool csv = path.extension() == ".csv";
  Overlay overlay = overlay_of(printable(path.filename().string()),
                               csv ? read_csv(text, shown) : read_json(text, shown), graph);
  if (overlay.count() == 0)
    fail(ErrorCode::data_loss, "{} has no value for a node of this graph{}", shown,
         !overlay.shared.empty()
             ? fmt::format("; several nodes have the name '{}': give the names of their results",
                           shortened(overlay.shared[0], 60))
         : overlay.unknown.empty()
             ? std::string()
             : fmt::format("; its first name is '{}'", shortened(overlay.unknown[0], 60)));
  return overlay;
}

}  // namespace poprt::inspector

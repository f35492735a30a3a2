#include "common/check_report.h"

#include <fmt/format.h>

#include <fstream>
#include <vector>

#include "common/json.h"

namespace poprt::cli {
namespace {

std::string with_title(const std::string& title, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += text.empty() ? fmt::format("{}: {}\n", title, line) : fmt::format("  {}\n", line);
  return text;
}

}  // namespace

std::string check_lines(const std::filesystem::path& folder) {
  const nlohmann::json report = read_json((folder / "check.json").string());
  if (!report.is_object() || !report.contains("text")) return {};
  return with_title("check", report["text"].get<std::vector<std::string>>());
}

std::string precision_lines(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "precision_compare.log";
  std::ifstream file(path);
  std::vector<std::string> lines = {path.string()};
  for (std::string line; std::getline(file, line) && !line.empty();) lines.push_back(line);
  return lines.size() > 1 ? with_title("precision", lines) : std::string();
}

std::string accuracy_lines(const std::filesystem::path& folder) {
  std::ifstream file(folder / "quantize.log");
  std::string text;
  for (std::string line; std::getline(file, line);)
    if (!text.empty() || line.starts_with("accuracy on")) text += line + "\n";
  return text;
}

}  // namespace poprt::cli

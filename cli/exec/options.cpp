// poprt_exec options: lists the values and the effect of each option of poprt.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/abi.h"
#include "common/arguments.h"
#include "common/json.h"
#include "exec/commands.h"

namespace poprt::cli {
namespace {

using Json = nlohmann::ordered_json;

// Escapes the characters that would end a cell.
std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find_first_of("|<", at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string spelled(const Json& option) {
  std::string text = fmt::format("`--{}`", option["name"].get<std::string>());
  for (const auto& alias : option.value("aliases", std::vector<std::string>()))
    text += fmt::format(", `{}`", alias);
  return text;
}

// Describes the values of an option.
std::string takes(const Json& row) {
  if (row.contains("choices"))
    return fmt::format("{}", fmt::join(row["choices"].get<std::vector<std::string>>(), ", "));
  const std::string kind = row["kind"];
  std::string text = kind == "flag"      ? ""
                     : kind == "integer" ? "whole number"
                     : kind == "number"  ? "number"
                     : kind == "names"   ? "names"
                     : kind == "words"   ? "words"
                                         : "text";
  if (row.contains("value") && kind != "integer" && kind != "number" && kind != "flag")
    text = "`" + row["value"].get<std::string>() + "`";
  if (row.contains("above")) text += fmt::format(" above {}", row["above"].get<double>());
  if (row.contains("least")) text += fmt::format(" from {}", row["least"].get<double>());
  if (row.contains("most")) text += fmt::format(" up to {}", row["most"].get<double>());
  return text;
}

std::string effect(const Json& row) {
  const std::string note = row.value("note", "");
  return row["effect"].get<std::string>() + (note.empty() ? "" : ": " + note);
}

void print_table(const Json& rows, bool ours) {
  fmt::print(
      "| option | takes | default | what it is for | what it does | since |\n"
      "|---|---|---|---|---|---|\n");
  for (const Json& row : rows)
    if (row.contains("since") != ours)
      fmt::print("| {} | {} | {} | {} | {} | {} |\n", spelled(row), cell(takes(row)),
                 cell(row.value("default", "")), cell(row["help"]), cell(effect(row)),
                 row.value("since", ""));
}

void print_markdown(const Json& j) {
  size_t documented = 0;
  for (const auto* table : {&j["options"], &j["tf2onnx"]})
    for (const Json& row : *table) documented += row.contains("since");
  fmt::print("## Of PopRT 1.5: {}\n\n", documented);
  std::vector<std::string> groups;
  for (const Json& row : j["options"]) {
    const auto group = row["group"].get<std::string>();
    if (groups.empty() || groups.back() != group) groups.push_back(group);
  }
  for (const std::string& group : groups) {
    Json rows = Json::array();
    for (const Json& row : j["options"])
      if (row["group"].get<std::string>() == group) rows.push_back(row);
    fmt::print("### {}\n\n", group);
    print_table(rows, false);
    fmt::print("\n");
  }
  fmt::print("### Of sub-command tf2onnx\n\n");
  print_table(j["tf2onnx"], false);
  fmt::print("\n## Ours\n\n");
  print_table(j["options"], true);
  fmt::print(
      "\n## Fields of --compiler_options\n\n"
      "| field | takes | default | what it does |\n|---|---|---|---|\n");
  for (const Json& row : j["compiler_options"])
    fmt::print("| `{}` | {} | {} | {} |\n", row["name"].get<std::string>(),
               row["kind"].get<std::string>() == "flag" ? "True, False" : cell(takes(row)),
               cell(row.value("default", "")), cell(effect(row)));
  fmt::print("\n## Fields of --popart_options\n\n{}.\n",
             fmt::join(j["popart_options"].get<std::vector<std::string>>(), ", "));
}

int list_options(bool json, bool markdown) {
  poprt_string* raw = nullptr;
  check(poprt_compiler_list_options(&raw));
  const Json j = parse_ordered_json(take(raw));
  if (json) {
    fmt::print("{}\n", to_text(j, 2));
  } else if (markdown) {
    print_markdown(j);
  } else {
    for (const auto* table : {&j["options"], &j["tf2onnx"]})
      for (const Json& row : *table)
        fmt::print("{:<34} {:<9} {}\n", row["name"].get<std::string>(),
                   row["effect"].get<std::string>(), row["help"].get<std::string>());
  }
  return 0;
}

}  // namespace

void add_options(Command& app, std::function<int()>& action) {
  auto json = std::make_shared<bool>(false), markdown = std::make_shared<bool>(false);
  Command* c = app.add_command("options",
                               "List the options of poprt and their effect: acts, is recorded for "
                               "the model of the chip, warns or fails");
  auto* j = c->add_flag("--json", *json, "As JSON");
  c->add_flag("--markdown", *markdown, "As a Markdown page")->excludes(j);
  c->callback([json, markdown, &action] {
    action = [json, markdown] { return list_options(*json, *markdown); };
  });
}

}  // namespace poprt::cli

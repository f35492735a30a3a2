#include <map>

#include "cli/commands/command_test.h"

namespace poprt::cli::test {
namespace {

// Returns the cells of the rows of the table in Markdown at the end of `text`.
std::vector<std::vector<std::string>> cells(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text.substr(text.find("\n| ")));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ")) continue;
    std::vector<std::string>& row = rows.emplace_back();
    for (size_t at = 2; at < line.size();) {
      const size_t end = line.find(" |", at);
      row.push_back(line.substr(at, end - at));
      at = end + 3;
    }
  }
  return rows;
}

// docs/operators.md is the output of --markdown, which tries each operator and takes a while.
TEST(Ops, LineOfEachOperatorOfTheDocuments) {
  auto rows = cells(file_text(POPRT_DOCS "/operators.md"));
  ASSERT_GT(rows.size(), 200);
  EXPECT_EQ(rows[0][0], "domain");
  std::string lines;
  size_t width = 0;  // the names of operators are below one another
  for (size_t i = 1; i < rows.size(); i++) width = std::max(width, rows[i][0].size());
  for (size_t i = 1; i < rows.size(); i++)
    lines += fmt::format("{:<{}} {:<32} {}\n", rows[i][0], width, rows[i][1], rows[i][2]);
  const Ran ran = run_command(add_ops, {"ops"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, lines);
}

TEST(Ops, ConversionsMatchTheDocuments) {
  const Ran ran = run_command(add_ops, {"ops", "--opsets"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_GT(ran.out.size(), 4000);
  EXPECT_TRUE(file_text(POPRT_DOCS "/opsets.md").ends_with("\n\n" + ran.out));
}

// The options are those of the documents.
TEST(Options, JsonAndLines) {
  const Ran json = run_command(add_options, {"options", "--json"});
  const nlohmann::json found = json.json();
  std::string lines;
  for (const char* table : {"options", "tf2onnx"})
    for (const nlohmann::json& row : found[table])
      lines += fmt::format("{:<34} {:<9} {}\n", row["name"].get<std::string>(),
                           row["effect"].get<std::string>(), row["help"].get<std::string>());
  EXPECT_EQ(run_command(add_options, {"options"}).out, lines);
  EXPECT_TRUE(json.out.starts_with("{\n  \"options\": [\n    {\n      \"name\": "))
      << json.out.substr(0, 80);
}

TEST(Passes, LineOfEachPassOfTheDocuments) {
  const auto rows = cells(file_text(POPRT_DOCS "/passes.md"));
  size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row[0].size());
  std::string lines;
  for (size_t i = 1; i < rows.size(); i++)
    lines += fmt::format("{:<{}}  {}\n", rows[i][0], width, rows[i][1]);
  EXPECT_EQ(run_command(add_passes, {"passes"}).out, lines);
  const Ran ran = run_command(add_passes, {"passes", "--json"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.json().size(), rows.size() - 1);
}

}  // namespace
}  // namespace poprt::cli::test

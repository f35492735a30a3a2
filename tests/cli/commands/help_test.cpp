// The --help of each command equals tests/data/cli_help.txt, which
// tests/cli/recorded_options_test.py writes; and documents that commands print.
#include <fmt/ranges.h>

#include <iterator>
#include <set>
#include <sstream>

#include "cli/commands/command_test.h"
#include "support/recorded_lines.h"

namespace poprt::cli::test {
namespace {

struct Named {
  const char* name;
  AddCommand add;
};

const Named kCommands[] = {
#define POPRT_COMMAND(name) {#name, add_##name},
#include "exec/commands.inc"
#undef POPRT_COMMAND
};

std::string recorded_help(const std::string& command) {
  std::istringstream file(file_text(POPRT_TEST_DATA "/cli_help.txt"));
  std::string text;
  bool within = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("poprt") && line.ends_with(":"))
      within = line == "poprt_exec " + command + ":";
    else if (within)
      text += line + "\n";
  }
  return text;
}

// CLI11 lists the options that an option excludes by their addresses; here they are sorted by name.
std::string sorted_lists(const std::string& text) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    if (const size_t at = line.find("Excludes: "); at != line.npos) {
      std::istringstream list(line.substr(at + 10));
      const std::set<std::string> words{std::istream_iterator<std::string>(list), {}};
      line = line.substr(0, at + 10) + fmt::format("{}", fmt::join(words, " "));
    }
    all += line + "\n";
  }
  return all;
}

class Help : public testing::TestWithParam<Named> {};

TEST_P(Help, IsAsRecorded) {
  const auto& [name, add] = GetParam();
  const Ran ran = run_command(add, {name, "--help"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(sorted_lists(ran.out), sorted_lists(recorded_help(name)));
}

INSTANTIATE_TEST_SUITE_P(Commands, Help, testing::ValuesIn(kCommands),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(Documents, PagesOfDocsEqualTheOutputOfCommands) {
  const std::tuple<AddCommand, const char*, const char*, const char*> pages[] = {
      {add_options, "options", POPRT_DOCS "/options.md", "## Of PopRT 1.5: "},
      {add_passes, "passes", POPRT_DOCS "/passes.md", "| pass | what it does | "}};
  for (const auto& [add, name, page, begin] : pages) {
    const Ran ran = run_command(add, {name, "--markdown"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(ran.out.starts_with(begin)) << name;
    EXPECT_GT(ran.out.size(), 4000) << name;
    EXPECT_TRUE(file_text(page).ends_with("\n\n" + ran.out)) << name;
  }
}

}  // namespace
}  // namespace poprt::cli::test

#include "poprt/option_checks.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/arguments.h"

namespace poprt::cli {
namespace {

GivenOptions options(const std::vector<std::pair<std::string, std::string>>& all) {
  GivenOptions given;
  for (const auto& [name, word] : all) given.add(*option_tables().find(name), {word});
  return given;
}

std::string stderr_of(const GivenOptions& given, void (*function)(const GivenOptions&)) {
  testing::internal::CaptureStderr();
  function(given);
  return testing::internal::GetCapturedStderr();
}

TEST(Given, ThreeOptionsRequestAnExecutable) {
  EXPECT_FALSE(exports_popef(options({{"output_model", "m.onnx"}})));
  for (const char* name : {"export_popef", "popef_name", "output"})
    EXPECT_TRUE(exports_popef(options({{name, "m.popef"}}))) << name;
}

TEST(Given, LevelsFromErrorOnAreQuiet) {
  EXPECT_FALSE(is_quiet(options({})));
  EXPECT_FALSE(is_quiet(options({{"logging_level", "WARNING"}})));
  EXPECT_TRUE(is_quiet(options({{"logging_level", "ERROR"}})));
  EXPECT_TRUE(is_quiet(options({{"logging_level", "CRITICAL"}})));
}

TEST(Given, WarnsOfOutputOptionsIfItOnlyPrints) {
  const auto show = [](const GivenOptions& given) { EXPECT_TRUE(only_prints(given)); };
  EXPECT_FALSE(only_prints(options({{"output", "m.popef"}})));
  EXPECT_EQ(stderr_of(options({{"show", "True"}, {"output", "m.popef"}}), show),
            "poprt: --output has no effect, because --show only prints\n");
  EXPECT_EQ(stderr_of(options({{"show_io_stat", "True"}, {"check", "True"}}), show),
            "poprt: --check has no effect, because --show_io_stat only prints\n");
}

TEST(Given, WarnsAboutExecutableOptionsWithoutAnExecutable) {
  const auto warned = [](std::vector<std::pair<std::string, std::string>> more) {
    more.emplace_back("pad_values", "x=0");
    return stderr_of(options(more), warn_of_executable);
  };
  EXPECT_TRUE(warned({}).starts_with("poprt: --pad_values has no effect without --export_popef"));
  EXPECT_TRUE(warned({{"precision", "bf16"}})
                  .starts_with("poprt: --precision bf16 has no effect without --export_popef"));
  EXPECT_FALSE(warned({{"precision", "fp16"}}).starts_with("poprt: --precision"));
  EXPECT_EQ(warned({{"run", "True"}, {"precision", "bf16"}}), "");
  EXPECT_EQ(warned({{"run", "True"}}), "");
  EXPECT_EQ(warned({{"check", "True"}}), "");
  EXPECT_EQ(warned({{"logging_level", "ERROR"}}), "");
}

TEST(Given, NamesOfTheExecutableAreChecked) {
  const auto message_for =
      [](const std::vector<std::pair<std::string, std::string>>& all) -> std::string {
    try {
      check_popef_names(options(all));
    } catch (const Usage& e) {
      return e.what();
    }
    return "taken";
  };
  EXPECT_EQ(message_for({{"output", "a/m.popef"}}), "taken");
  EXPECT_EQ(message_for({{"popef_name", "m.popef"}}), "taken");
  EXPECT_EQ(message_for({{"output", "m.bin"}}),
            "--output: expected a name that ends in .popef, found 'm.bin'");
  EXPECT_EQ(message_for({{"popef_name", "a/m.popef"}}),
            "--popef_name: expected a name without a folder, found 'a/m.popef'; --output takes a "
            "path");
  EXPECT_EQ(message_for({{"output", "m.popef"}, {"popef_name", "n.popef"}}),
            "--output and --popef_name: only one of them names the executable");
  EXPECT_EQ(message_for({{"output_model", "m.onnx"}}), "taken");
  EXPECT_EQ(message_for({{"output_model", "m.popef"}}),
            "--output_model names the converted ONNX model, found 'm.popef'; --output names the "
            "executable");
}

}  // namespace
}  // namespace poprt::cli

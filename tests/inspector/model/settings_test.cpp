#include "model/settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>

namespace poprt::inspector {
namespace {

namespace fs = std::filesystem;

class SettingsFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "poprt_settings_test_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir = pattern;
  }
  void TearDown() override { fs::remove_all(dir); }
  Settings loaded(const std::string& text) {
    std::ofstream(dir / "s.json") << text;
    return load_settings(dir / "s.json");
  }
  fs::path dir;
};

void expect_defaults(const Settings& s) {
  EXPECT_FALSE(s.light);
  EXPECT_EQ(s.width, 1280);
  EXPECT_EQ(s.height, 800);
  EXPECT_TRUE(s.recent.empty());
}

TEST_F(SettingsFile, RoundTrips) {
  Settings s;
  s.light = true;
  s.width = 900;
  s.height = 700;
  s.recent = {"b.onnx", "a \"quoted\" \xff.onnx"};
  const fs::path path = dir / "new" / "folder" / "s.json";
  save_settings(s, path);
  const Settings again = load_settings(path);
  EXPECT_TRUE(again.light);
  EXPECT_EQ(again.width, 900);
  EXPECT_EQ(again.height, 700);
  EXPECT_EQ(again.recent, (std::vector<std::string>{"b.onnx", "a \"quoted\" \xef\xbf\xbd.onnx"}));
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("\n  \"height\": 700"), std::string::npos) << text;
  EXPECT_EQ(text.back(), '\n');
}

TEST_F(SettingsFile, MissingEmptyAndBrokenOnesGiveTheDefaults) {
  expect_defaults(load_settings(dir / "none"));
  for (const char* text : {"", "{", "[1, 2]", "7", "null", "{\"width\": \"wide\"}",
                           "{\"light\": true, \"recent\": [1]}"}) {
    SCOPED_TRACE(text);
    expect_defaults(loaded(text));
  }
  EXPECT_TRUE(loaded("{\"light\": true}").light);
}

TEST_F(SettingsFile, SizesAreClampedToThoseOfAWindow) {
  const Settings s = loaded("{\"width\": 1, \"height\": 1000000}");
  EXPECT_EQ(s.width, 320);
  EXPECT_EQ(s.height, 16384);
  EXPECT_EQ(loaded("{\"width\": 321, \"height\": 16383}").width, 321);
  EXPECT_EQ(loaded("{\"width\": 321, \"height\": 16383}").height, 16383);
}

TEST_F(SettingsFile, ThatCannotBeWrittenIsNoError) {
  std::ofstream(dir / "file") << "x";
  save_settings({}, dir / "file" / "s.json");
  save_settings({}, {});
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), fs::directory_iterator{}), 1);
}

TEST_F(SettingsFile, TwelveRecentFilesAreKeptTheLastFirst) {
  Settings s;
  for (int i = 0; i < 12; i++) s.add_recent(std::to_string(i));
  EXPECT_EQ(s.recent.size(), 12u);
  EXPECT_EQ(s.recent.front(), "11");
  EXPECT_EQ(s.recent.back(), "0");
  s.add_recent("12");
  EXPECT_EQ(s.recent.size(), 12u);
  EXPECT_EQ(s.recent.back(), "1");
  s.add_recent("5");  // moves to the front
  EXPECT_EQ(s.recent.size(), 12u);
  EXPECT_EQ(s.recent.front(), "5");
  EXPECT_EQ(s.recent[1], "12");

  std::string list;
  for (int i = 0; i < 12; i++) list += (i ? ", \"" : "\"") + std::to_string(i) + "\"";
  EXPECT_EQ(loaded("{\"recent\": [" + list + "]}").recent.size(), 12u);
  const Settings cut = loaded("{\"recent\": [" + list + ", \"12\"]}");
  EXPECT_EQ(cut.recent.size(), 12u);
  EXPECT_EQ(cut.recent.back(), "11");
}

TEST(SettingsPath, IsThatOfTheDesktopsRules) {
  const auto path = [](const char* config, const char* home) {
    config ? ::setenv("XDG_CONFIG_HOME", config, 1) : ::unsetenv("XDG_CONFIG_HOME");
    home ? ::setenv("HOME", home, 1) : ::unsetenv("HOME");
    return settings_path().string();
  };
  const auto kept = [](const char* name) {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
  const auto config = kept("XDG_CONFIG_HOME"), home = kept("HOME");
  EXPECT_EQ(path("/c", "/h"), "/c/poprt/inspector.json");
  EXPECT_EQ(path("", "/h"), "/h/.config/poprt/inspector.json");
  EXPECT_EQ(path(nullptr, "/h"), "/h/.config/poprt/inspector.json");
  EXPECT_EQ(path(nullptr, ""), "");
  EXPECT_EQ(path("", nullptr), "");
  path(config ? config->c_str() : nullptr, home ? home->c_str() : nullptr);
}

}  // namespace
}  // namespace poprt::inspector

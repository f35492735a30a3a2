#include <chrono>
#include <ctime>

#include "cli/commands/command_test.h"

namespace poprt::cli::test {
namespace {

namespace fs = std::filesystem;

// Two executables of a folder, the first unused for a day and a half.
class Cache : public CommandTest {
 protected:
  Cache() {
    for (const char* name : {"POPXL_CACHE_DIR", "POPART_CACHE_DIR"}) unsetenv(name);
    for (const char* op : {"Relu", "Neg"}) {
      onnx("net.onnx", std::string(R"(graph "g" opset {"": 17} {
  input %x : f32[2]
  %y : f32[2] = )") + op + "(%x)\n  output %y\n}\n");
      const std::vector<fs::path> before = files();
      popef("net.popef", "net.onnx",
            {{"compiler_options", "enable_engine_caching=True\ncache_path=kept"}});
      for (const fs::path& file : files())
        if (std::ranges::count(before, file) == 0) in_order.push_back(file);
    }
    EXPECT_EQ(in_order.size(), 2);
    age(in_order[0], 36);
  }
  ~Cache() override {
    for (const char* name : {"POPXL_CACHE_DIR", "POPART_CACHE_DIR"}) unsetenv(name);
  }
  static std::vector<fs::path> files() {
    std::vector<fs::path> found;
    if (!fs::exists("kept")) return found;
    for (const auto& entry : fs::directory_iterator("kept"))
      if (entry.path().extension() == ".popef") found.push_back(entry.path());
    return found;
  }
  static void age(const fs::path& file, int hours) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }
  static Ran cache(std::vector<std::string> words) {
    words.insert(words.begin(), "cache");
    return run_command(add_cache, words);
  }
  std::string removed(std::vector<std::string> words) const {
    words.insert(words.begin(), {"--path", "kept", "--prune"});
    const Ran ran = cache(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  }
  static std::string all(const std::vector<fs::path>& of) {
    uint64_t bytes = 0;
    for (const fs::path& file : of) bytes += fs::file_size(file);
    return fmt::format("{} file{}, {} bytes\n", of.size(), of.size() == 1 ? "" : "s", bytes);
  }

  std::vector<fs::path> in_order;
};

TEST_F(Cache, FilesAreListedTheLeastRecentlyUsedFirst) {
  const Ran ran = cache({"--path", "kept"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::istringstream lines(ran.out);
  std::string first, second, sum;
  std::getline(lines, first);
  std::getline(lines, second);
  std::getline(lines, sum);
  EXPECT_EQ(sum + "\n", all(in_order));
  const std::string size =
      fmt::format("{:.1f} kB", static_cast<double>(fs::file_size(in_order[0])) / 1e3);
  EXPECT_EQ(first, fmt::format("{:<24}  {:>9}  {:>14}  {}  poprt 1.0.0", "net", size, "1 day ago",
                               in_order[0].filename().string()));
  EXPECT_NE(second.find(in_order[1].filename().string()), std::string::npos) << second;
  EXPECT_EQ(first.find("damaged"), std::string::npos) << first;
  EXPECT_EQ(cache({"--path", "kept", "--list"}).out, ran.out);
}

TEST_F(Cache, Json) {
  const auto now = static_cast<double>(std::time(nullptr));
  write(in_order[1].string(), "no executable");
  const Ran ran = cache({"--path", "kept", "--json"});
  EXPECT_EQ(ran.code, 0);
  const nlohmann::json found = ran.json();
  ASSERT_EQ(found["files"].size(), 2);
  EXPECT_EQ(found["bytes"], fs::file_size(in_order[0]) + 13);
  const nlohmann::json& old = found["files"][0];
  EXPECT_EQ(old["file"], in_order[0].filename().string());
  EXPECT_EQ(old["bytes"], fs::file_size(in_order[0]));
  EXPECT_NEAR(old["last_used"].get<double>(), now - 36 * 3600, 60);
  EXPECT_EQ(old["damaged"], false);
  EXPECT_NE(old["description"], "");
  EXPECT_EQ(found["files"][1]["damaged"], true);
  EXPECT_EQ(found["files"][1]["description"], "");
  EXPECT_NE(cache({"--path", "kept"}).out.find("  damaged\n"), std::string::npos);
}

TEST_F(Cache, DaysDecide) {
  EXPECT_EQ(removed({"--older_than", "1.6"}), "removed 0 files, 0 bytes\n");
  const std::string first = all({in_order[0]});
  EXPECT_EQ(removed({"--older_than", "1.4"}), "removed " + first);
  EXPECT_EQ(files(), std::vector<fs::path>{in_order[1]});
  // These numbers of days exceed 64 bits in nanoseconds, and in seconds.
  for (const char* days : {"200000", "1e14", "1e300"})
    EXPECT_EQ(removed({"--older_than", days}), "removed 0 files, 0 bytes\n") << days;
}

TEST_F(Cache, BytesDecide) {
  const uint64_t both = fs::file_size(in_order[0]) + fs::file_size(in_order[1]);
  EXPECT_EQ(removed({"--max_bytes", std::to_string(both)}), "removed 0 files, 0 bytes\n");
  const std::string first = all({in_order[0]}), second = all({in_order[1]});
  EXPECT_EQ(removed({"--max_bytes", std::to_string(both - 1)}), "removed " + first);
  EXPECT_EQ(removed({"--max_bytes", "0"}), "removed " + second);
}

TEST_F(Cache, EverythingIsRemovedWithoutALimit) {
  const uint64_t both = fs::file_size(in_order[0]) + fs::file_size(in_order[1]);
  const Ran ran = cache({"--path", "kept", "--prune", "--json"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.json(), (nlohmann::json{{"removed_files", 2}, {"removed_bytes", both}}));
  EXPECT_EQ(files(), std::vector<fs::path>());
}

TEST_F(Cache, FolderIsThatOfTheCompiler) {
  const std::string kept = all(in_order), none = "0 files, 0 bytes\n";
  const auto listed = [](std::vector<std::string> words) {
    const std::string out = cache(words).out;
    return out.substr(out.rfind('\n', out.size() - 2) + 1);
  };
  // The user has no home folder, which would be the last choice.
  const char* const before = std::getenv("HOME");
  const std::string home = before ? before : "";
  setenv("HOME", "", 1);
  setenv("XDG_CACHE_HOME", "", 1);
  EXPECT_EQ(cache({}).code, 2);
  setenv("POPART_CACHE_DIR", "kept", 1);
  EXPECT_EQ(listed({}), kept);
  setenv("POPXL_CACHE_DIR", "elsewhere", 1);
  EXPECT_EQ(listed({}), none);
  EXPECT_EQ(listed({"--path", "kept"}), kept);
  setenv("POPXL_CACHE_DIR", "", 1);
  EXPECT_EQ(listed({}), kept);
  setenv("POPART_CACHE_DIR", "", 1);
  EXPECT_EQ(cache({}).code, 2);
  setenv("HOME", home.c_str(), 1);
  unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace poprt::cli::test

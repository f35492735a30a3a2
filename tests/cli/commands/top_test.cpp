#include <algorithm>

#include "cli/commands/command_test.h"

namespace poprt::cli::test {
namespace {

// Sessions of this process, which publish to the folder.
class Top : public CommandTest {
 protected:
  Top() {
    setenv("POPRT_TELEMETRY", "1", 1);
    setenv("POPRT_TELEMETRY_DIR", std::filesystem::current_path().c_str(), 1);
    onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[2]
  %y : f32[2] = Relu(%x)
  output %y
})");
    popef("net.popef", "net.onnx");
    poprt_executable* opened = nullptr;
    check(poprt_executable_open("net.popef", &opened));
    executable_.reset(opened);
    runner_ = make_runner(opened, {.threads = 1});
    const float x[2] = {};
    float y[2];
    const void* in[] = {x};
    void* out[] = {y};
    for (int i = 0; i < 3; i++) check(poprt_runner_execute_indexed(runner_.get(), in, out));
  }
  ~Top() override {
    runner_.reset();
    unsetenv("POPRT_TELEMETRY");
    unsetenv("POPRT_TELEMETRY_DIR");
  }
  static Ran top(std::vector<std::string> words) {
    words.insert(words.begin(), "top");
    return run_command(add_top, words);
  }
  static size_t tables(const std::string& text) {
    size_t count = 0;
    for (size_t at = text.find("requests/s"); at != text.npos; at = text.find("requests/s", at + 1))
      count++;
    return count;
  }

  Executable executable_;
  Runner runner_;
};

TEST_F(Top, SessionsAreShown) {
  const nlohmann::json found = top({"--json"}).json();
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0]["requests"]["completed"], 3);
  EXPECT_EQ(found[0]["alive"], true);
  const Ran text = top({});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(tables(text.out), 1);
  EXPECT_TRUE(text.out.starts_with("     pid model")) << text.out;
  EXPECT_NE(text.out.find(" alive "), std::string::npos);
}

TEST_F(Top, OtherFoldersAreOtherSessions) {
  std::filesystem::create_directory("empty");
  EXPECT_EQ(top({"--json", "--folder", "empty"}).json(), nlohmann::json::array());
  EXPECT_EQ(top({"--json", "--folder", "."}).json().size(), 1);
}

TEST_F(Top, SeveralLooks) {
  EXPECT_EQ(tables(top({"--count", "3", "--interval", "0.01"}).out), 3);
  const std::string twice = top({"--count", "2", "--interval", "0.01", "--json"}).out;
  const size_t end = twice.find("]\n[");
  ASSERT_NE(end, std::string::npos) << twice;
  EXPECT_EQ(std::ranges::count(twice, '\n'), 2) << "JSON lines";
  EXPECT_EQ(nlohmann::json::parse(twice.substr(end + 2)).size(), 1);
  const auto begin = std::chrono::steady_clock::now();
  top({"--count", "2", "--interval", "0.05"});
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(50));
}

}  // namespace
}  // namespace poprt::cli::test

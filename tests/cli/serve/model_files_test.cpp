#include "serve/model_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace poprt::serve {
namespace {

namespace fs = std::filesystem;

class ModelFiles : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  void write(const char* name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }

  const fs::path folder_ =
      fs::path(testing::TempDir()) / ("model_files_" + std::to_string(::getpid()));
};

// An entry of TensorProto.external_data with the size of the value in one byte or two.
std::string entry(const std::string& location, bool two_bytes = false) {
  std::string size = {static_cast<char>(location.size())};
  if (two_bytes) size = {static_cast<char>(location.size() | 128), static_cast<char>(0)};
  return "\x0a\x08location\x12" + size + location;
}

TEST_F(ModelFiles, ExternalDataIsFoundInEachPlace) {
  const size_t piece = 1 << 16;  // the size of a read
  for (size_t at = piece - 20; at <= piece + 1; at++) {
    write("m.onnx", std::string(at, '\x0a') + entry("b/w.bin") + std::string(10, 'x') +
                        entry("a.data", true) + entry("b/w.bin"));
    EXPECT_EQ(external_data_of(path("m.onnx")),
              (std::vector<std::string>{path("a.data"), path("b/w.bin")}))
        << at;
  }
}

TEST_F(ModelFiles, LocationsOutOfTheFolderAndDamagedOnesAreLeftOut) {
  write("m.onnx", entry("/etc/passwd") + entry("../w") + entry("a/../../w") + entry("") +
                      entry(std::string("a\0b", 3)) + entry("good") + "\x0a\x08location\x12\x7f" +
                      "short");
  EXPECT_EQ(external_data_of(path("m.onnx")), std::vector<std::string>{path("good")});
  write("m.onnx", entry("good") + "\x0a\x08location\x12");
  EXPECT_EQ(external_data_of(path("m.onnx")), std::vector<std::string>{path("good")});
  write("m.onnx", "");
  EXPECT_TRUE(external_data_of(path("m.onnx")).empty());
  EXPECT_TRUE(external_data_of(path("missing.onnx")).empty());
}

// The files of a reproducible archive have equal times.
TEST_F(ModelFiles, AFileOfTheSameSizeAndTimeHasAnotherStamp) {
  const auto time = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const char* name : {"m", "new"}) {
    write(name, name == std::string("m") ? "12" : "34");
    fs::last_write_time(path(name), time);
  }
  const auto stamp = [&] { return stamp_of({path("m"), path("other")}); };
  const std::string before = stamp();
  EXPECT_EQ(stamp(), before);
  fs::rename(path("new"), path("m"));
  const std::string replaced = stamp();
  EXPECT_NE(replaced, before);
  ASSERT_EQ(::chmod(path("m").c_str(), 0400), 0);
  const std::string readable = stamp();
  EXPECT_NE(readable, replaced);
  write("other", "");
  EXPECT_NE(stamp(), readable);
  fs::remove(path("other"));
  EXPECT_EQ(stamp(), readable);
}

}  // namespace
}  // namespace poprt::serve

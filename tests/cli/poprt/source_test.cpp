#include "poprt/source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "common/abi.h"
#include "common/temporary_folder.h"

namespace poprt::cli {
namespace {

namespace fs = std::filesystem;

GivenOptions model_given(const std::string& path) {
  GivenOptions given;
  given.add(*option_tables().find("input_model"), {path});
  return given;
}

std::string refused(const std::string& path) {
  try {
    return "taken: " + Source(model_given(path)).path();
  } catch (const Failure& e) {
    return e.what();
  }
}

void touch(const fs::path& path) { std::ofstream(path) << "bytes"; }

TEST(Source, IsTheFileOrTheOnlyModelOfAFolder) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "m.onnx";
  touch(file);
  touch(folder.path() / "other.txt");
  EXPECT_EQ(Source(model_given(file)).path(), file);
  EXPECT_EQ(Source(model_given(folder.path())).path(), file);
  touch(folder.path() / "n.onnx");
  EXPECT_EQ(refused(folder.path()),
            "the folder '" + folder.path().string() +
                "' contains 2 .onnx files; give one of them as --input_model");
}

TEST(Source, MustBeThere) {
  EXPECT_EQ(refused("/nowhere/m.onnx"), "cannot open '/nowhere/m.onnx': No such file or directory");
}

// Data that can be read only once is copied to a temporary file, which is deleted with the source.
TEST(Source, CopiesAPipeToAFileAndHidesItsName) {
  const TemporaryFolder folder;
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "the model"; });
  std::string path;
  {
    const Source source(model_given(pipe));
    writer.join();
    path = source.path();
    std::string text;
    std::getline(std::ifstream(path), text);
    EXPECT_EQ(text, "the model");
    EXPECT_NE(path, pipe);
    EXPECT_EQ(with_piped_name("cannot read " + path + ", or " + path),
              "cannot read '" + pipe + "', or '" + pipe + "'");
  }
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace poprt::cli

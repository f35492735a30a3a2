#include "poprt/convert.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/temporary_folder.h"

namespace poprt::cli {
namespace {

namespace fs = std::filesystem;

GivenOptions paths(const std::string& folder, const std::string& name) {
  GivenOptions given;
  if (!folder.empty()) given.add(*option_tables().find("output_dir"), {folder});
  if (!name.empty()) given.add(*option_tables().find("output_model"), {name});
  return given;
}

TEST(ConvertedPath, IsBelowTheOutputFolder) {
  EXPECT_EQ(converted_path(paths("", ""), "in/net.onnx"), "./net.optimized.onnx");
  EXPECT_EQ(converted_path(paths("out", ""), "in/net.onnx"), "out/net.optimized.onnx");
  EXPECT_EQ(converted_path(paths("out", "other.onnx"), "in/net.onnx"), "out/other.onnx");
  EXPECT_EQ(converted_path(paths("", "sub/other.onnx"), "in/net.onnx"), "./sub/other.onnx");
  EXPECT_EQ(converted_path(paths("out", "sub/other.onnx"), "in/net.onnx"), "out/sub/other.onnx");
  EXPECT_EQ(converted_path(paths("out", "/tmp/other.onnx"), "in/net.onnx"), "/tmp/other.onnx");
}

TEST(ConvertedPath, IsNotTheSource) {
  const TemporaryFolder folder;
  const std::string source = folder.path() / "net.onnx";
  std::ofstream(source) << "model";
  try {
    const GivenOptions given = paths(folder.path(), "net.onnx");
    require_separate_files(given, {source}, converted_path(given, source), {});
    ADD_FAILURE() << "taken";
  } catch (const Usage& e) {
    EXPECT_EQ(std::string(e.what()), "--output_model: cannot write '" + source +
                                         "': it is the same file as '" + source +
                                         "', which the command reads; give another path");
  }
}

}  // namespace
}  // namespace poprt::cli

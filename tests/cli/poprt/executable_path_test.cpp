#include "poprt/executable_path.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "common/temporary_folder.h"
#include "ir/text.h"
#include "onnx/export.h"

namespace poprt::cli {
namespace {

namespace fs = std::filesystem;

class Replacing : public testing::Test {
 protected:
  // Compiles an activation from `input` to `output` into a file, as model `name`.
  void compile(const fs::path& popef, const std::string& name, const std::string& input,
               const std::string& output, const std::string& op = "Relu") {
    const fs::path onnx = folder.path() / (name + ".onnx");
    onnx::export_file(*ir::parse_text("graph \"g\" opset {\"\": 17} {\n  input %" + input +
                                      " : f32[2]\n  %" + output + " : f32[2] = " + op + "(%" +
                                      input + ")\n  output %" + output + "\n}\n"),
                      onnx);
    poprt_compiler* compiler = nullptr;
    check(poprt_compiler_create(nullptr, &compiler));
    const Compiler owner(compiler);
    check(poprt_compiler_compile_to_popef(compiler, onnx.c_str(), popef.c_str()));
  }
  static std::string message(const std::function<void()>& f) {
    try {
      f();
    } catch (const Failure& e) {
      return e.what();
    }
    return "taken";
  }
  static GivenOptions overwriting() {
    GivenOptions given;
    given.add(*option_tables().find("overwrite"), {"True"});
    return given;
  }
  static std::string input_of(const fs::path& popef) {
    poprt_executable* found = nullptr;
    check(poprt_executable_open(popef.c_str(), &found));
    return poprt_anchor_name(poprt_executable_input(Executable(found).get(), 0));
  }
  TemporaryFolder folder;
  const fs::path path = folder.path() / "m.popef";
};

TEST_F(Replacing, UsesNoTemporaryFileForANewTarget) {
  const ExecutableReplacement fresh({}, path);
  EXPECT_EQ(fresh.temporary_path(), path);
  compile(path, "net", "x", "y");
  EXPECT_EQ(ExecutableReplacement(overwriting(), path).temporary_path(), path);
  EXPECT_NE(ExecutableReplacement({}, path).temporary_path(), path);
}

TEST_F(Replacing, AnotherVersionOfAModelReplacesTheFile) {
  compile(path, "net", "x", "y");
  ExecutableReplacement replaced({}, path);
  compile(replaced.temporary_path(), "net", "x", "z", "Tanh");
  EXPECT_NE(message([&] { replaced.commit(); }), "taken") << "no output has the same name";
  EXPECT_FALSE(fs::exists(replaced.temporary_path()));
  compile(replaced.temporary_path(), "net", "x", "y", "Tanh");
  testing::internal::CaptureStderr();
  EXPECT_EQ(message([&] { replaced.commit(); }), "taken");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("and is replaced"), std::string::npos);
  EXPECT_FALSE(fs::exists(replaced.temporary_path()));
}

TEST_F(Replacing, AnotherModelOfTheNameStays) {
  compile(path, "net", "x", "y");
  ExecutableReplacement replaced({}, path);
  compile(replaced.temporary_path(), "net", "image", "y");
  const std::string printed = message([&] { replaced.commit(); });
  EXPECT_NE(
      printed.find("contains another model with the name 'net', whose inputs are x, not image"),
      std::string::npos)
      << printed;
  EXPECT_EQ(input_of(path), "x");
}

TEST_F(Replacing, AFileOfAnotherNameIsRefusedBeforeWork) {
  compile(path, "net", "x", "y");
  GivenOptions given;
  given.add(*option_tables().find("output"), {path.string()});
  EXPECT_EQ(popef_path(given, "in/net.onnx"), path);
  EXPECT_NE(message([&] { popef_path(given, "in/other.onnx"); }).find("contains the model 'net'"),
            std::string::npos);
  given.merge(overwriting());
  EXPECT_EQ(popef_path(given, "in/other.onnx"), path);
}

}  // namespace
}  // namespace poprt::cli

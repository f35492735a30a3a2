// A model that one compiler converts and then compiles is read once, and converted once if that
// gives the same result; a model that has changed in between is read again.
#include <gtest/gtest.h>
#include <poprt/poprt.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "capi/onnx_bytes.h"

namespace {

namespace fs = std::filesystem;
using poprt::test::message_for;
using poprt::test::onnx;

// y = op(x + x)
std::string model_with(const std::string& op) {
  return onnx({{"Add", {"x", "x"}, "s"}, {op, {"s"}, "y"}}, {{"x", 1, {2, 3}}}, {{"y", 1, {2, 3}}});
}

// A model with an output whose size depends on data.
std::string sized_model() {
  return onnx({{"NonZero", {"x"}, "y"}}, {{"x", 1, {2, 3}}}, {{"y", 7, {2, 6}}});
}

class ConvertedOnce : public testing::Test {
 protected:
  ConvertedOnce() {
    char pattern[] = "/tmp/poprt_once_XXXXXX";
    folder = ::mkdtemp(pattern);
    for (const auto& [name, bytes] :
         {std::pair("relu", model_with("Relu")), std::pair("tanh", model_with("Tanh")),
          std::pair("sized", sized_model())})
      std::ofstream(path(name), std::ios::binary) << bytes;
    options.struct_size = sizeof options;
    options.progress = [](double, const char* what, void* to) {
      auto& self = *static_cast<ConvertedOnce*>(to);
      self.conversions += std::string(what) == "PopRT conversion";
    };
    options.user_data = this;
  }
  ~ConvertedOnce() override {
    poprt_compiler_free(compiler);
    fs::remove_all(folder);
  }
  std::string path(const std::string& name) const { return folder + "/" + name + ".onnx"; }
  std::string out(const std::string& name) const { return folder + "/" + name; }

  // Only a file that is older than this is considered unchanged.
  static void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(2100)); }

  void convert(const std::string& name) {
    if (!compiler) {
      ASSERT_EQ(message_for(poprt_compiler_create(&options, &compiler)), "ok");
    }
    conversions = 0;
    ASSERT_EQ(message_for(poprt_compiler_convert_file(compiler, path(name).c_str(),
                                                      out("converted.onnx").c_str())),
              "ok");
    EXPECT_GT(conversions, 0);
    conversions = 0;
  }
  // Compiles the model and returns the bytes of the PopEF file. Counts the conversions.
  std::string compile(const std::string& name, bool in_memory = false) {
    conversions = 0;
    return compiled_by(compiler, name, in_memory);
  }
  // Returns the bytes that another compiler makes, which has converted nothing before.
  std::string fresh(const std::string& name) {
    const int before = conversions;
    poprt_compiler* other = nullptr;
    EXPECT_EQ(message_for(poprt_compiler_create(&options, &other)), "ok");
    std::string bytes = compiled_by(other, name, false);
    poprt_compiler_free(other);
    conversions = before;
    return bytes;
  }
  std::string compiled_by(poprt_compiler* by, const std::string& name, bool in_memory) const {
    const std::string popef = out("made.popef");
    if (in_memory) {
      poprt_executable* executable = nullptr;
      EXPECT_EQ(message_for(poprt_compiler_compile_file(by, path(name).c_str(), &executable)),
                "ok");
      EXPECT_EQ(message_for(poprt_executable_save(executable, popef.c_str())), "ok");
      poprt_executable_free(executable);
    } else {
      EXPECT_EQ(message_for(poprt_compiler_compile_to_popef(by, path(name).c_str(), popef.c_str())),
                "ok");
    }
    std::ifstream file(popef, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder;
  poprt_compile_options options = {};
  poprt_compiler* compiler = nullptr;
  int conversions = 0;
};

TEST_F(ConvertedOnce, AndCompiledEqualsACompilationOfTheModel) {
  wait();
  const std::string wanted = fresh("relu");
  for (const bool in_memory : {false, true}) {
    convert("relu");
    const std::string made = compile("relu", in_memory);
    EXPECT_EQ(conversions, 0) << in_memory;
    if (!in_memory) EXPECT_EQ(made, wanted);
  }
  EXPECT_EQ(compile("relu"), wanted) << "a second compilation reads the model again";
  EXPECT_GT(conversions, 0);
}

TEST_F(ConvertedOnce, ButNotWithBoundsThatOnnxDoesNotHave) {
  wait();
  convert("sized");
  EXPECT_EQ(compile("sized"), fresh("sized"));
  EXPECT_GT(conversions, 0);
}

TEST_F(ConvertedOnce, ButNotForAnotherFile) {
  wait();
  convert("relu");
  EXPECT_EQ(compile("tanh"), fresh("tanh"));
  EXPECT_GT(conversions, 0);
}

TEST_F(ConvertedOnce, ButNotAFileThatHasChanged) {
  wait();
  convert("relu");
  fs::copy_file(path("tanh"), path("relu"), fs::copy_options::overwrite_existing);
  const std::string replaced = fresh("relu");
  EXPECT_EQ(compile("relu"), replaced);
  EXPECT_GT(conversions, 0);
  // The same holds for a file that is so new that a later change would not be noticed.
  convert("relu");
  EXPECT_EQ(compile("relu"), replaced);
  EXPECT_GT(conversions, 0);
}

TEST_F(ConvertedOnce, ButNotForACallerThatFollowsThePasses) {
  wait();
  int passes = 0;
  options.user_data = &passes;
  options.progress = nullptr;
  options.after_pass = [](const char* name, int64_t, double, int64_t, int64_t, void* count) {
    *static_cast<int*>(count) += std::string(name) == "eliminate_nop_cast";
  };
  ASSERT_EQ(message_for(poprt_compiler_create(&options, &compiler)), "ok");
  const auto count = [&](const auto& f) {
    passes = 0;
    f();
    return passes;
  };
  const int converting = count([&] {
    EXPECT_EQ(message_for(poprt_compiler_convert_file(compiler, path("relu").c_str(),
                                                      out("converted.onnx").c_str())),
              "ok");
  });
  const int compiling = count([&] { compiled_by(compiler, "relu", false); });
  EXPECT_GT(converting, 0);
  EXPECT_GT(compiling, converting) << "a compilation has additional passes";
}

}  // namespace

// libpoprt.so in a folder without a compiler, or with that of another version or build: it loads
// PopEF files, and its errors name the missing library. The program is not linked with the library;
// each test loads its own copy.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "compiler_library.h"
#include "kernels/common/isa_builds.h"
#include "poprt/poprt.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

namespace {

namespace fs = std::filesystem;

using Refusal = std::pair<poprt_error_code, std::string>;

class LoneLibrary : public ::testing::Test {
 protected:
  LoneLibrary() : folder_(::mkdtemp(std::string(testing::TempDir() + "poprt_XXXXXX").data())) {
    fs::copy_file(LIBRARY, folder_ / "libpoprt.so.1");
    library_ = ::dlopen((folder_ / "libpoprt.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library_) throw std::runtime_error(::dlerror());
  }
  ~LoneLibrary() override { fs::remove_all(folder_); }

  template <class F>
  F* function(const char* name) const {
    void* found = ::dlsym(library_, name);
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<F*>(found);
  }

  // Compiles a model, and returns the error; its text is empty on success.
  Refusal refusal() const {
    const auto read = [&](poprt_error* error) {
      Refusal error_text(
          function<decltype(poprt_error_get_code)>("poprt_error_get_code")(error),
          std::string(function<decltype(poprt_error_message)>("poprt_error_message")(error)));
      function<decltype(poprt_error_free)>("poprt_error_free")(error);
      return error_text;
    };
    poprt_compiler* compiler = nullptr;
    if (auto* error =
            function<decltype(poprt_compiler_create)>("poprt_compiler_create")(nullptr, &compiler))
      return read(error);
    poprt_executable* executable = nullptr;
    auto* error = function<decltype(poprt_compiler_compile_file)>("poprt_compiler_compile_file")(
        compiler, MODEL, &executable);
    function<decltype(poprt_compiler_free)>("poprt_compiler_free")(compiler);
    function<decltype(poprt_executable_free)>("poprt_executable_free")(executable);
    return error ? read(error) : Refusal(POPRT_OK, std::string());
  }

  const fs::path folder_;
  const std::string compiler_ = (folder_ / "libpoprt_compiler.so.1").string();

 private:
  void* library_ =
      nullptr;  // never closed, because the state that it keeps for the process would be lost
};

TEST_F(LoneLibrary, LoadsExecutablesWithoutACompiler) {
  poprt_executable* executable = nullptr;
  poprt_runner* runner = nullptr;
  ASSERT_EQ(function<decltype(poprt_executable_open)>("poprt_executable_open")(DATA "/copies.popef",
                                                                               &executable),
            nullptr);
  ASSERT_EQ(
      function<decltype(poprt_runner_create)>("poprt_runner_create")(executable, nullptr, &runner),
      nullptr);
  function<decltype(poprt_runner_free)>("poprt_runner_free")(runner);
  function<decltype(poprt_executable_free)>("poprt_executable_free")(executable);
}

TEST_F(LoneLibrary, ErrorNamesThePathOfTheMissingCompiler) {
  for (int again = 0; again < 2; again++) {
    const auto [code, message] = refusal();
    EXPECT_EQ(code, POPRT_FAILED_PRECONDITION);
    EXPECT_EQ(message, fmt::format("cannot load the compiler '{}': cannot open shared object file: "
                                   "No such file or directory; copy the file into this folder",
                                   compiler_));
  }
  fs::copy_file(COMPILER, compiler_);  // now it is installed, and found by the same process
  EXPECT_EQ(refusal(), Refusal(POPRT_OK, std::string()));
}

TEST_F(LoneLibrary, ShapesOnDemandNeedACompiler) {
  poprt_compile_options o{};
  o.struct_size = sizeof o;
  o.shapes = "on_demand";
  poprt_executable* executable = nullptr;
  poprt_error* error = function<decltype(poprt_executable_load)>("poprt_executable_load")(
      DATA "/source.popef", &o, &executable);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(function<decltype(poprt_error_get_code)>("poprt_error_get_code")(error),
            POPRT_FAILED_PRECONDITION);
  const std::string message = function<decltype(poprt_error_message)>("poprt_error_message")(error);
  EXPECT_TRUE(message.starts_with(
      fmt::format("'{}': cannot load the compiler '{}': ", DATA "/source.popef", compiler_)))
      << message;
  function<decltype(poprt_error_free)>("poprt_error_free")(error);
  // The shape that it was compiled for needs no compiler.
  o.shapes = nullptr;
  EXPECT_EQ(function<decltype(poprt_executable_load)>("poprt_executable_load")(DATA "/source.popef",
                                                                               &o, &executable),
            nullptr);
  function<decltype(poprt_executable_free)>("poprt_executable_free")(executable);
}

TEST_F(LoneLibrary, RefusesAFileThatIsNotTheCompiler) {
  std::ofstream(compiler_) << "text";
  EXPECT_TRUE(
      refusal().second.starts_with(fmt::format("cannot load the compiler '{}': ", compiler_)));
  fs::remove(compiler_);
  fs::copy_file(LIBRARY, compiler_);  // a library, but not a compiler
  EXPECT_EQ(
      refusal(),
      Refusal(POPRT_FAILED_PRECONDITION,
              fmt::format("the compiler '{}' has version 0, this library has {}: install both "
                          "from one build",
                          compiler_, POPRT_VERSION)));
}

// Python's TensorFlow loads its own protobuf in this way.
TEST_F(LoneLibrary, CompilesNextToAnotherProtobuf) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers do not allow RTLD_DEEPBIND";
#endif
  fs::copy_file(COMPILER, compiler_);
  ASSERT_NE(::dlopen(OTHER_PROTOBUF, RTLD_NOW | RTLD_GLOBAL), nullptr) << ::dlerror();
  EXPECT_EQ(refusal(), Refusal(POPRT_OK, std::string()));
}

TEST_F(LoneLibrary, RefusesTheCompilerOfAnotherVersion) {
  fs::copy_file(OTHER_COMPILER, compiler_);
  EXPECT_EQ(
      refusal(),
      Refusal(POPRT_FAILED_PRECONDITION,
              fmt::format("the compiler '{}' has version {}, this library has {}: install both "
                          "from one build",
                          compiler_, POPRT_VERSION + 1, POPRT_VERSION)));
}

TEST_F(LoneLibrary, RefusesTheCompilerOfAnotherBuild) {
  fs::copy_file(OTHER_BUILD, compiler_);
  EXPECT_EQ(refusal(), Refusal(POPRT_FAILED_PRECONDITION,
                               fmt::format("the compiler '{}' comes from another build of version "
                                           "{}: install both from one build",
                                           compiler_, POPRT_VERSION)));
}

// The compiler computes with the kernels of libpoprt.so, whose tables must be those that it knows.
TEST_F(LoneLibrary, TheCompilerBorrowsOnlyTheTablesThatItWasBuiltFor) {
  void* const compiler = ::dlopen(COMPILER, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(compiler, nullptr) << ::dlerror();
  const auto table = reinterpret_cast<decltype(&poprt_compiler_library_table)>(
      ::dlsym(compiler, "poprt_compiler_library_table"));
  const auto* const own = static_cast<const poprt::kernels::IsaBuilds*>(
      function<decltype(poprt_private_isa_builds)>("poprt_private_isa_builds")());
  const poprt::kernels::IsaBuilds other{own->layout + 1, own->tables};
  EXPECT_EQ(table()->borrow_kernels(&other), 0);
  EXPECT_EQ(table()->borrow_kernels(own), 1);
}

}  // namespace

// Runs a command of poprt_exec within the test, in a separate folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/arguments.h"
#include "common/temporary_folder.h"
#include "exec/commands.h"
#include "exec/support/npy.h"
#include "ir/text.h"
#include "onnx/export.h"

namespace poprt::cli::test {

using AddCommand = void (*)(Command&, std::function<int()>&);

struct Ran {
  int code = 0;
  std::string out, err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

// Runs `poprt_exec WORDS...`, whose first word is the command. Without `acts`, the words are only
// parsed.
inline Ran run_command(AddCommand add, const std::vector<std::string>& words, bool acts = true) {
  std::vector<std::string> all = {"poprt_exec"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ran ran;
  {
    Command app("", "poprt_exec");
    app.require_subcommand();
    std::function<int()> action;
    add(app, action);
    ran.code = guarded(("poprt_exec " + words[0]).c_str(), [&] {
      if (const auto code = app.parse(static_cast<int>(argv.size()), argv.data())) return *code;
      return acts ? action() : 0;
    });
  }
  ran.out = testing::internal::GetCapturedStdout();
  ran.err = testing::internal::GetCapturedStderr();
  return ran;
}

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The working directory is an empty folder, which is removed at the end of the test.
class CommandTest : public testing::Test {
 protected:
  CommandTest() : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder_.path());
  }
  ~CommandTest() override { std::filesystem::current_path(before_); }

  static void write(const std::string& name, const std::string& text) {
    std::ofstream(name, std::ios::binary) << text;
  }
  static std::string onnx(const std::string& name, const std::string& text) {
    onnx::export_file(*ir::parse_text(text), name);
    return name;
  }
  // A model with an operator of a domain that it does not import.
  static std::string without_import(const std::string& name) {
    std::string bytes =
        onnx::export_bytes(*ir::parse_text(R"(graph "g" opset {"": 17, "com.microsoft": 1} {
  input %x : f32[2]
  %y : f32[2] = com.microsoft.Gelu(%x)
  output %y
})"));
    bytes[bytes.find("com.microsoft")] = 'k';  // the import precedes the nodes
    write(name, bytes);
    return name;
  }
  static void npy(const std::string& name, std::vector<int64_t> shape,
                  const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    write_npy(name, {POPRT_DTYPE_F32, std::move(shape), {bytes.begin(), bytes.end()}, {}});
  }
  static std::vector<float> floats(const std::string& name) {
    const Array a = read_npy(name);
    std::vector<float> values(a.data.size() / sizeof(float));
    std::memcpy(values.data(), a.data.data(), a.data.size());
    return values;
  }
  // `named` are options by name, with the names of command poprt.
  static std::string popef(const std::string& name, const std::string& onnx,
                           const std::vector<poprt_option>& named = {}) {
    poprt_compile_options options = {};
    options.struct_size = sizeof options;
    options.options = named.data();
    options.option_count = named.size();
    poprt_compiler* compiler = nullptr;
    check(poprt_compiler_create(&options, &compiler));
    const Compiler owner(compiler);
    poprt_executable* made = nullptr;
    check(poprt_compiler_compile_file(compiler, onnx.c_str(), &made));
    const Executable executable(made);
    check(poprt_executable_save(made, name.c_str()));
    return name;
  }

 private:
  TemporaryFolder folder_;
  std::filesystem::path before_;
};

}  // namespace poprt::cli::test

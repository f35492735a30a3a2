// Command lines and their messages, in the process of the test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "common/arguments.h"
#include "common/temporary_folder.h"
#include "ir/text.h"
#include "onnx/export.h"

namespace poprt::cli {

struct Printed {
  std::optional<int> code;
  std::string out, err;
};

// Parses `words`, which lack the program's name, and returns what the parser prints.
inline Printed parse(Command& command, std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  Printed output;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  output.code = command.parse(static_cast<int>(raw.size()), raw.data());
  output.out = testing::internal::GetCapturedStdout();
  output.err = testing::internal::GetCapturedStderr();
  return output;
}

// Returns the message of the exception of type `Kind` that `body` throws. Another exception, or
// none, fails the test.
template <class Kind, class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const Kind& e) {
    if constexpr (!std::is_same_v<Kind, Usage>)
      EXPECT_EQ(dynamic_cast<const Usage*>(&static_cast<const std::exception&>(e)), nullptr)
          << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline std::filesystem::path write_file(const TemporaryFolder& folder, const std::string& name,
                                        const std::string& bytes) {
  std::ofstream(folder.path() / name, std::ios::binary) << bytes;
  return folder.path() / name;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Writes a model; `body` is the text between the braces of a graph.
inline std::string write_model(const TemporaryFolder& folder, const std::string& name,
                               const std::string& body) {
  const std::string path = (folder.path() / name).string();
  onnx::export_file(*ir::parse_text("graph \"g\" opset {\"\": 17} {\n" + body + "}\n"), path);
  return path;
}

// The path of a model of tests/data/cli.
inline std::string sample_model(const std::string& name) {
  return std::string(POPRT_TEST_DATA) + "/cli/" + name + ".onnx";
}

}  // namespace poprt::cli

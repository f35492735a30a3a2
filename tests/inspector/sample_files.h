// Small files that tests of the inspector open.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "ir/text.h"
#include "popef/writer.h"
#include "program/serialize.h"
#include "runtime/session/model.h"

namespace poprt::inspector {

class SampleFolder {
 public:
  explicit SampleFolder(const std::string& name)
      : path(std::filesystem::temp_directory_path() /
             ("inspector." + name + "." + std::to_string(getpid()))) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~SampleFolder() { std::filesystem::remove_all(path); }
  SampleFolder(const SampleFolder&) = delete;
  SampleFolder& operator=(const SampleFolder&) = delete;

  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return path / name;
  }

  const std::filesystem::path path;
};

inline constexpr const char* kSampleText = R"(graph "net" opset {"": 17} {
  input %x : f32[1,4]
  const %w : f32[4,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
  %a : f32[1,2] = MatMul(%x, %w) "/block/fc/MatMul"
  %b : f32[1,2] = Relu(%a) "/block/fc/Relu"
  %c : f32[1,2] = Sigmoid(%b) "/block/Sigmoid"
  %d : f32[1,2] = Add(%b, %c) "/Add"
  output %d
}
)";

// The sample graph compiled, with data for an anchor of its own and two opaque blobs.
inline std::string sample_popef() {
  const auto graph = ir::parse_text(kSampleText);
  compiler::convert(*graph, {});
  const compiler::Executable made = compiler::compile(*graph, {});
  std::ostringstream file;
  popef::Writer writer(file);
  popef::Metadata metadata = runtime::make_metadata("net", made.program);
  metadata.anchors().push_back(popef::Anchor("table", "table_handle",
                                             popef::TensorInfo(popef::DataType::F32, {3}),
                                             popef::TensorType::INPUT, {0}, true));
  writer.write(metadata);
  std::ostringstream payload;
  program::write_executable(payload, made.program, made.weights);
  writer.createExecutable("net")->write(payload.str().data(), payload.str().size());
  const float table[] = {1, 2, 4};
  writer.createTensorData({"table", popef::TensorInfo(popef::DataType::F32, {3})})
      ->write(table, sizeof table);
  writer.createOpaqueBlob("labels", "net")->write("[\"cat\",\"dog\"]", 13);
  writer.createOpaqueBlob("raw", "net")->write("\x00\x01\xff", 3);
  writer.close();
  return file.str();
}

}  // namespace poprt::inspector

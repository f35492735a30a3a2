// Small files that tests of the inspector open.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "compiler/variants.h"
#include "ir/text.h"
#include "popef/writer.h"
#include "program/serialize.h"
#include "runtime/session/model.h"
#include "runtime/session/popef_file.h"
#include "runtime/session/variants.h"

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

// A loop that stays a loop, one that is unrolled, and two conditions that depend on an input.
inline constexpr const char* kControlFlowText = R"(graph "net" opset {"": 17} {
  input %x : f32[2,8]
  input %flag : bool[]
  const %m : s64[] = 600
  const %n : s64[] = 3
  %y : f32[2,8] = Loop(%m, _, %x) {body = graph "rounds" { input %i : s64[] input %c : bool[] input %u : f32[2,8] %d : bool[] = Identity(%c) %e : f32[2,8] = Mul(%u, %u) "product" output %d output %e }} "repeat"
  %s : f32[2,8] = Loop(%n, _, %y) {body = graph "unrolled" { input %j : s64[] input %k : bool[] input %v : f32[2,8] %f : bool[] = Identity(%k) %g : f32[2,8] = Sin(%v) "sine" output %f output %g }} "short"
  %p : f32[2,8] = If(%flag) {else_branch = graph "no" { %q : f32[2,8] = Neg(%s) "negate" output %q }, then_branch = graph "yes" { %a : f32[2,8] = Add(%s, %s) "double" %same1 : f32[2,8] = Abs(%a) "same" output %same1 }} "choose"
  %r : f32[2,8] = If(%flag) {else_branch = graph "no" { %t : f32[2,8] = Cos(%p) "cosine" output %t }, then_branch = graph "yes" { %same2 : f32[2,8] = Exp(%p) "same" output %same2 }} "choose2"
  %z : f32[2,8] = Softmax(%r) "last"
  output %z
}
)";

inline compiler::Executable compiled(const std::string& text,
                                     const compiler::Options& options = {}) {
  const auto graph = ir::parse_text(text);
  compiler::convert(*graph, options);
  return compiler::compile(*graph, options);
}

// The compiled sample graph, with data for an additional anchor and two opaque blobs.
inline std::string sample_popef(const std::string& name = "net") {
  const compiler::Executable made = compiled(kSampleText);
  std::ostringstream file;
  popef::Writer writer(file);
  popef::Metadata metadata = runtime::make_metadata(name, made.program);
  metadata.anchors().push_back(popef::Anchor("table", "table_handle",
                                             popef::TensorInfo(popef::DataType::F32, {3}),
                                             popef::TensorType::INPUT, {0}, true));
  writer.write(metadata);
  std::ostringstream payload;
  program::write_executable(payload, made.program, made.weights);
  writer.createExecutable(name)->write(payload.str().data(), payload.str().size());
  const float table[] = {1, 2, 4};
  writer.createTensorData({"table", popef::TensorInfo(popef::DataType::F32, {3})})
      ->write(table, sizeof table);
  writer.createOpaqueBlob("labels", name)->write("[\"cat\",\"dog\"]", 13);
  writer.createOpaqueBlob("raw", name)->write("\x00\x01\xff", 3);
  writer.close();
  return file.str();
}

inline std::filesystem::path write_compiled(const SampleFolder& folder, const std::string& name,
                                            const compiler::Executable& made) {
  const auto path = folder.path / (name + ".popef");
  runtime::write_popef(path, name, made.program, made.weights, made.notes);
  return path;
}

// y = relu(x) + 1, with two products that cancel. Three nodes have the names of nodes of the
// sample.
inline constexpr const char* kOtherText = R"(graph "other" opset {"": 17} {
  input %x : f32[3,2]
  const %one : f32[1] = [1.0]
  const %swap : f32[2,2] = [0.0, 1.0, 1.0, 0.0]
  %r : f32[3,2] = Relu(%x) "/block/fc/Relu"
  %m : f32[3,2] = MatMul(%r, %swap) "/block/fc/MatMul"
  %n : f32[3,2] = MatMul(%m, %swap) "again"
  %y : f32[3,2] = Add(%n, %one) "/Add"
  output %y
}
)";

// Models "net" and "other" in one executable.
inline std::filesystem::path write_fused(const SampleFolder& folder) {
  const std::shared_ptr<const runtime::Model> models[] = {
      runtime::open_popef(write_compiled(folder, "net", compiled(kSampleText))),
      runtime::open_popef(write_compiled(folder, "other", compiled(kOtherText)))};
  const auto path = folder.path / "fused.popef";
  runtime::save_model(*runtime::fuse_models(models), path);
  return path;
}

// Model "other" at two sizes of its first dimension, 3 and 7.
inline std::filesystem::path write_buckets(const SampleFolder& folder) {
  std::string open = kOtherText, large = kOtherText;
  const auto replace = [](std::string& text, const std::string& with) {
    for (size_t at = text.find("[3,"); at != std::string::npos; at = text.find("[3,", at))
      text.replace(at, 3, "[" + with + ",");
  };
  replace(open, "?");
  replace(large, "7");
  const compiler::Symbols symbols = compiler::symbols_of(*ir::parse_text(open));
  return write_compiled(
      folder, "buckets",
      compiler::link_shapes({compiled(kOtherText), compiled(large)}, symbols, {}, nullptr));
}

// The sample cut for two IPUs that work one after the other, or as stages of a pipeline.
inline std::filesystem::path write_sharded(const SampleFolder& folder, bool pipelined) {
  compiler::Options options;
  options.num_ipus = 2;
  options.virtual_graph = compiler::VirtualGraph::automatic;
  options.pipelining = pipelined;
  options.batches_per_step = 2;
  return write_compiled(folder, pipelined ? "pipelined" : "sharded",
                        compiled(kSampleText, options));
}

inline program::Anchor anchor(DType dtype, Shape shape) {
  program::Anchor a;
  a.name = "x";
  a.dtype = dtype;
  a.shape = std::move(shape);
  return a;
}

}  // namespace poprt::inspector

// Compiles a text graph and runs it on the emulated device.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "compiler/compiler.h"
#include "device/emulator/emulator.h"
#include "ir/text.h"
#include "support/graph_eval.h"

namespace poprt::test {

inline std::map<std::string, Tensor> run_executable(const compiler::Executable& executable,
                                                    const std::map<std::string, Tensor>& feeds,
                                                    int threads = 1) {
  Tensor weights =
      Tensor::zeros(DType::u8, {static_cast<int64_t>(executable.program.weights_bytes)});
  for (const program::Weight& w : executable.weights)
    w.fill({static_cast<std::byte*>(weights.mutable_data()) + w.offset, w.bytes});
  device::EmulatedDevice device;
  device::Image image;
  image.program = std::make_shared<program::Program>(executable.program);
  image.weights = {static_cast<const std::byte*>(weights.data()), weights.bytes()};
  device::LoadOptions options;
  options.threads = threads;
  const auto engine = device.load(image, options);
  std::vector<const void*> in;
  for (const program::Anchor& a : executable.program.inputs) in.push_back(feeds.at(a.name).data());
  std::map<std::string, Tensor> results;
  std::vector<void*> out;
  for (const program::Anchor& a : executable.program.outputs) {
    Tensor t = Tensor::zeros(a.dtype, a.shape);
    out.push_back(t.mutable_data());
    results[a.name] = t;
  }
  engine->run(device::Flow::main, in.data(), out.data());
  return results;
}

inline compiler::Executable compile_text(const std::string& text, compiler::Options options = {}) {
  const auto graph = ir::parse_text(text);
  compiler::convert(*graph, options);
  return compiler::compile(*graph, options);
}

// The compiled graph, on the device, gives what its nodes give one by one.
inline void expect_compiles_to_same(const std::string& text, double tolerance = 1e-5) {
  const auto reference = ir::parse_text(text);
  ops::infer(*reference);
  const auto feeds = random_feeds(*reference);
  const auto wanted = evaluate_graph(*reference, feeds);
  const compiler::Executable executable = compile_text(text);
  const auto got = run_executable(executable, feeds);
  ASSERT_EQ(got.size(), wanted.size());
  for (const auto& [name, tensor] : wanted) expect_close(tensor, got.at(name), tolerance, name);
  const auto again = run_executable(executable, feeds, 3);
  for (const auto& [name, tensor] : got)
    EXPECT_TRUE(tensor.same_as(again.at(name))) << name << " depends on the threads";
}

}  // namespace poprt::test

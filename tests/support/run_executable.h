// Runs a compiled model on the emulated device. Header only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "device/emulator/emulator.h"

namespace poprt::test {

// Maps feeds by input name to results by output name.
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
  if (const auto failure = engine->take_failure()) throw *failure;
  return results;
}

}  // namespace poprt::test

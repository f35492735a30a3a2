#include "model/profile.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <unordered_map>

#include "base/tensor.h"
#include "device/emulator/emulator.h"
#include "model/format.h"

namespace poprt::inspector {
namespace {

using Clock = std::chrono::steady_clock;

Tensor made_up(const program::Anchor& anchor) {
  Tensor t = Tensor::zeros(anchor.dtype, anchor.shape);
  if (anchor.dtype != DType::f32) return t;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (float& v : t.mutable_values<float>()) v = uniform(random);
  return t;
}

}  // namespace

ProgramProfile profile_program(const program::LoadedProgram& loaded, double seconds,
                               Progress& progress) {
  progress.step(0, "preparing the program");
  device::EmulatedDevice device;
  device::Image image;
  image.program = std::make_shared<program::Program>(loaded.program);
  image.weights = loaded.weights;
  image.owner = loaded.owner;
  device::LoadOptions options;
  options.profile = true;
  const auto engine = device.load(image, options);

  std::vector<Tensor> memory;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (const program::Anchor& a : loaded.program.inputs) {
    if (a.data != program::kNoData) {
      inputs.push_back(loaded.weights.data() + a.data);
      continue;
    }
    memory.push_back(made_up(a));
    inputs.push_back(memory.back().data());
  }
  for (const program::Anchor& a : loaded.program.outputs) {
    memory.push_back(Tensor::zeros(a.dtype, a.shape));
    outputs.push_back(memory.back().mutable_data());
  }
  if (!loaded.program.load.empty()) engine->run(device::Flow::load, inputs.data(), outputs.data());

  ProgramProfile profile;
  const auto begin = Clock::now();
  double elapsed = 0;
  do {
    progress.step(std::min(1.0, elapsed / seconds), "running");
    engine->run(device::Flow::main, inputs.data(), outputs.data());
    profile.runs++;
    elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
  } while (elapsed < seconds);
  profile.run_ns = elapsed * 1e9 / static_cast<double>(profile.runs);
  for (const device::InstructionProfile& row : engine->profile()) {
    profile.instructions.push_back(static_cast<double>(row.total_ns) /
                                   static_cast<double>(profile.runs));
    profile.names.push_back(printable(row.name));
  }
  return profile;
}

int node_of_instruction(const GraphModel& graph, const std::string& name) {
  if (const int node = graph.find(name); node != kNone) return node;
  for (size_t n = 0; n < graph.nodes().size(); n++) {
    const GraphNode& node = graph.nodes()[n];
    if (node.kind == NodeKind::op && !node.outputs.empty() && node.outputs[0] != kNone &&
        graph.value(node.outputs[0]).name == name)
      return static_cast<int>(n);
  }
  return kNone;
}

std::vector<double> node_times(const GraphModel& graph, const ProgramProfile& profile) {
  std::unordered_map<std::string, double> times;
  for (size_t i = 0; i < profile.names.size(); i++)
    times[profile.names[i]] += profile.instructions[i];
  std::vector<double> found_times(graph.nodes().size());
  for (size_t n = 0; n < found_times.size(); n++) {
    const GraphNode& node = graph.nodes()[n];
    if (node.kind != NodeKind::op) continue;
    auto found = times.find(node.name);
    if (found == times.end() && !node.outputs.empty() && node.outputs[0] != kNone)
      found = times.find(graph.value(node.outputs[0]).name);
    if (found != times.end()) found_times[n] = found->second;
  }
  return found_times;
}

}  // namespace poprt::inspector

#include "model/profile.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/tensor.h"
#include "device/device_manager.h"
#include "model/format.h"
#include "model/node_names.h"
#include "program/control.h"
#include "program/shards.h"

namespace poprt::inspector {
namespace {

using Clock = std::chrono::steady_clock;

Tensor random_input(const program::Anchor& anchor) {
  Tensor t = Tensor::zeros(anchor.dtype, anchor.shape);
  if (anchor.dtype != DType::f32) return t;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (float& v : t.mutable_values<float>()) v = uniform(random);
  return t;
}

// The input that selects the variant, and its values in the order of the variants. Empty if the
// program has no variants.
struct VariantIndex {
  size_t input = 0;
  std::vector<uint32_t> numbers;
};

VariantIndex variants_of(const program::Program& p) {
  VariantIndex found;
  for (const program::Instruction& in : p.main) {
    if (program::control_of(p.kernels[in.kernel]) != program::Control::case_region) continue;
    const program::Buffer& b = p.buffers[in.operands[0]];
    if (b.space != program::Space::input) return {};
    found.input = b.index;
    found.numbers.push_back(static_cast<uint32_t>(program::decode_case(in).number));
  }
  return found;
}

// The positions in main of the rows of an engine's profile. An engine of several IPUs reports the
// instructions that each IPU runs and omits the control instructions around them.
std::vector<size_t> places_of(const program::Program& p, size_t rows) {
  std::vector<size_t> places;
  for (const program::Shard& shard : program::shards_of(p).shards)
    for (size_t i = shard.begin; i < shard.end; i++) places.push_back(i);
  if (places.empty())
    for (size_t i = 0; i < p.main.size(); i++) places.push_back(i);
  if (places.size() != rows)
    fail(ErrorCode::internal, "{} instructions were timed, the program has {}", rows,
         places.size());
  return places;
}

void run_flow(device::Engine& engine, device::Flow flow, const std::vector<const void*>& inputs,
              const std::vector<void*>& outputs) {
  engine.run(flow, inputs.data(), outputs.data());
  if (const auto failure = engine.take_failure()) throw *failure;
}

}  // namespace

ProgramProfile profile_program(const program::LoadedProgram& loaded, double seconds,
                               Progress& progress, const InputChoices& choices) {
  progress.step(0, "preparing the program");
  // A separate device, which does not depend on the environment and takes no shared IPU.
  const auto device =
      device::DeviceManager(device::ManagerConfig{1, "0", "0"}).create_ipu_model_device(1, 21);
  device::Image image;
  image.program = std::make_shared<program::Program>(loaded.program);
  image.weights = loaded.weights;
  image.owner = loaded.owner;
  device::LoadOptions options;
  options.profile = true;
  const auto engine = device->load(image, options);

  std::vector<Tensor> memory;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (const program::Anchor& a : loaded.program.inputs) {
    const auto chosen = choices.find(a.name);
    if (a.data != program::kNoData && chosen == choices.end()) {
      inputs.push_back(loaded.weights.data() + a.data);
      continue;
    }
    memory.push_back(chosen == choices.end() ? random_input(a)
                                             : input_tensor(a, chosen->second, 1));
    inputs.push_back(memory.back().data());
  }
  for (const program::Anchor& a : loaded.program.outputs) {
    memory.push_back(Tensor::zeros(a.dtype, a.shape));
    outputs.push_back(memory.back().mutable_data());
  }
  if (!loaded.program.load.empty()) run_flow(*engine, device::Flow::load, inputs, outputs);

  ProgramProfile profile;
  const VariantIndex variants = variants_of(loaded.program);
  const bool several = !variants.numbers.empty();
  std::vector<double> turn_ns(std::max<size_t>(1, variants.numbers.size()));
  const auto begin = Clock::now();
  auto at = begin;
  double elapsed = 0;
  do {
    for (size_t turn = 0; turn < turn_ns.size(); turn++) {
      progress.step(std::min(1.0, elapsed / seconds), "running");
      if (several) inputs[variants.input] = &variants.numbers[turn];
      run_flow(*engine, device::Flow::main, inputs, outputs);
      const auto now = Clock::now();
      turn_ns[turn] += std::chrono::duration<double, std::nano>(now - at).count();
      at = now;
    }
    profile.runs++;
    elapsed = std::chrono::duration<double>(at - begin).count();
  } while (elapsed < seconds);
  const auto runs = static_cast<double>(profile.runs);
  for (double& ns : turn_ns) ns /= runs;
  profile.run_ns = elapsed * 1e9 / runs;
  if (several) profile.variant_ns = std::move(turn_ns);
  const auto rows = engine->profile();
  const auto places = places_of(loaded.program, rows.size());
  for (const program::Instruction& in : loaded.program.main)
    profile.names.push_back(printable(in.name));
  profile.instructions.resize(loaded.program.main.size());
  for (size_t i = 0; i < rows.size(); i++)
    profile.instructions[places[i]] = static_cast<double>(rows[i].total_ns) / runs;
  return profile;
}

std::vector<double> node_times(const GraphModel& graph, const ProgramProfile& profile, size_t first,
                               size_t last) {
  std::vector<std::pair<std::string, double>> times;
  for (size_t i = first; i < profile.names.size() && i <= last; i++)
    times.emplace_back(profile.names[i], profile.instructions[i]);
  return sums_of_nodes(graph, times);
}

}  // namespace poprt::inspector

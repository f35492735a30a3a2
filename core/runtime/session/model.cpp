#include "runtime/session/model.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_set>

#include "base/error.h"
#include "base/json.h"
#include "base/log_level.h"
#include "program/shards.h"

namespace poprt::runtime {
namespace {

constexpr uint32_t kMaxReplicas = 1024;
constexpr uint64_t kMaxIterations = 1'000'000;

void check_names(const std::vector<program::Anchor>& anchors, std::string_view direction) {
  std::unordered_set<std::string_view> names;
  for (const program::Anchor& a : anchors) {
    if (a.name.empty()) fail(ErrorCode::data_loss, "an {} anchor has no name", direction);
    if (!names.insert(a.name).second)
      fail(ErrorCode::data_loss, "two {} anchors are called '{}'", direction, a.name);
  }
}

bool has(const std::vector<program::Anchor>& anchors, std::string_view name) {
  return std::any_of(anchors.begin(), anchors.end(),
                     [&](const program::Anchor& a) { return a.name == name; });
}

bool uses(const program::Program& p, const std::vector<program::Instruction>& list,
          program::Space space, size_t anchor) {
  return std::any_of(list.begin(), list.end(), [&](const program::Instruction& in) {
    return std::any_of(in.operands.begin(), in.operands.end(), [&](uint32_t id) {
      return id != program::kNoBuffer && p.buffers[id].space == space &&
             p.buffers[id].index == anchor;
    });
  });
}

popef::Metadata describe(const std::string& name, const program::Program& program, bool strict) {
  constexpr uint32_t kLoad = 0, kMain = 1, kSave = 2;
  popef::Metadata m;
  m.setExecutable(name);
  m.setIpuVersion(21);
  m.setNumIpus(static_cast<uint32_t>(program::ipus_of(program)));
  m.programsMap() = {{kLoad, "load"}, {kMain, "main"}, {kSave, "save"}};
  bool has_load = !program.load.empty(), has_save = !program.save.empty();
  const auto add_one = [&](const program::Anchor& a, const char* prefix, popef::TensorType type,
                           popef::Anchor::Programs programs) {
    try {
      m.anchors().emplace_back(a.name, prefix + a.name,
                               popef::TensorInfo(popef::data_type_of(a.dtype), a.shape), type,
                               std::move(programs));
    } catch (const Error&) {
      if (strict) throw;
    }
  };
  const auto add = [&](const std::vector<program::Anchor>& anchors, popef::TensorType type,
                       program::Space space, const char* prefix) {
    for (size_t i = 0; i < anchors.size(); i++) {
      const program::Anchor& a = anchors[i];
      popef::Anchor::Programs programs = {kMain};
      if (a.data != program::kNoData) {
        programs = {kLoad};
        has_load = true;
      } else if (uses(program, program.save, space, i)) {
        if (!uses(program, program.main, space, i)) programs.clear();
        programs.push_back(kSave);
      }
      add_one(a, prefix, type, std::move(programs));
    }
  };
  add(program.inputs, popef::TensorType::INPUT, program::Space::input, "h2d_");
  add(program.outputs, popef::TensorType::OUTPUT, program::Space::output, "anchor_d2h_");
  for (const program::Anchor& a : program.inputs)
    if (a.data != program::kNoData && !has(program.outputs, a.name)) {
      add_one(a, "weight_d2h_", popef::TensorType::OUTPUT, {kSave});
      has_save = true;
    }
  if (has_load) m.programFlow().setLoad({kLoad});
  m.programFlow().setMain({kMain});
  if (has_save) m.programFlow().setSave({kSave});
  return m;
}

constexpr std::string_view kBatchesPerStep = "batches_per_step", kIoTiles = "num_io_tiles";

// The number that an option of the compilation has; 0 without the option, or if it is not a number.
uint64_t number_of(const popef::Metadata& metadata, std::string_view option) {
  const auto& options = metadata.engineOptions();
  const auto found = std::ranges::find(options, option, &popef::Option::name);
  uint64_t value = 0;
  if (found == options.end()) return value;
  const std::string& text = found->value();
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Whether the model, or one of a fused model, was compiled with `reproducible`.
bool is_reproducible(const popef::Metadata& metadata) {
  return std::ranges::any_of(metadata.engineOptions(), [](const popef::Option& o) {
    return (o.name() == "reproducible" || o.name().ends_with("/reproducible")) && o.value() != "0";
  });
}

}  // namespace

void set_engine_options(popef::Metadata& metadata, std::vector<popef::Option> options) {
  metadata.setEngineOptions(std::move(options));
  for (const popef::Option& o : metadata.engineOptions())
    if (o.name() == "ipu_version") metadata.setIpuVersion(o.value() == "ipu2" ? 2 : 21);
  metadata.setDeviceIterations(std::max<uint64_t>(number_of(metadata, kBatchesPerStep), 1));
}

void set_engine_options(Model& model, std::vector<popef::Option> options) {
  set_engine_options(model.metadata, std::move(options));
  model.batches_per_step = static_cast<uint32_t>(model.metadata.deviceIterations());
  model.overlap_io = number_of(model.metadata, kIoTiles) > 0;
  model.reproducible = is_reproducible(model.metadata);
}

device::Constraints constraints_of(const Model& model) {
  device::Constraints c;
  c.num_ipus = int64_t{model.replication_factor} * model.ipus;
  // A C600 IPU (21) also runs programs for its predecessor (2).
  if (model.metadata.ipuVersion() != 2) c.ipu_version = model.metadata.ipuVersion();
  return c;
}

bool is_variable(const popef::Metadata& metadata, const popef::Anchor& anchor) {
  return anchor.type() == popef::TensorType::INPUT &&
         anchor.usedBy(metadata.programFlow().load()) &&
         !anchor.usedBy(metadata.programFlow().main()) &&
         (anchor.handle().empty() || anchor.handle() != metadata.seedHandle());
}

bool Model::is_seed(size_t input) const {
  if (metadata.seedHandle().empty() || (input < input_data.size() && !input_data[input].empty()))
    return false;
  const std::string& wanted = inputs()[input].name;
  return std::any_of(metadata.anchors().begin(), metadata.anchors().end(),
                     [&](const popef::Anchor& a) {
                       return a.type() == popef::TensorType::INPUT && a.name() == wanted &&
                              a.handle() == metadata.seedHandle();
                     });
}

popef::Metadata make_metadata(const std::string& name, const program::Program& program) {
  return describe(name, program, true);
}

std::shared_ptr<const Model> make_model(std::string name, device::Image image,
                                        std::span<const std::byte> file,
                                        std::span<const std::byte> payload,
                                        std::optional<popef::Metadata> metadata,
                                        std::span<const InputData> input_data) {
  warn_of_unknown_log_level();
  POPRT_ASSERT(image.program != nullptr);
  const program::Program& p = *image.program;
  program::verify(p);
  if (p.outputs.empty()) fail(ErrorCode::data_loss, "the program has no outputs");
  check_names(p.inputs, "input");
  check_names(p.outputs, "output");
  if (image.weights.size() < p.weights_bytes)
    fail(ErrorCode::data_loss, "the program needs {} bytes of weights, {} are there",
         p.weights_bytes, image.weights.size());
  for (const program::Instruction& in : p.load)
    for (const uint32_t id : in.operands)
      if (id != program::kNoBuffer && (p.buffers[id].space == program::Space::input ||
                                       p.buffers[id].space == program::Space::output))
        fail(ErrorCode::unimplemented,
             "load instruction '{}' uses caller memory; load programs may use weights only",
             in.name);
  std::vector<std::span<const std::byte>> data(p.inputs.size());
  for (size_t i = 0; i < data.size(); i++) {
    const program::Anchor& a = p.inputs[i];
    if (a.data != program::kNoData) data[i] = image.weights.subspan(a.data, a.bytes());
    for (const InputData& d : input_data)
      if (d.name == a.name) data[i] = d.bytes;
    if (a.bytes() == 0 ? !data[i].empty() : data[i].size() % a.bytes() != 0)
      fail(ErrorCode::data_loss, "data of input '{}': {} bytes are no whole number of {}", a.name,
           data[i].size(), a.bytes());
  }
  if (!metadata) metadata = describe(name, p, false);
  for (const popef::Anchor& m : metadata->anchors()) {
    if (!is_variable(*metadata, m)) continue;
    for (size_t i = 0; i < data.size(); i++)
      if (p.inputs[i].name == m.name() && data[i].empty() && p.inputs[i].bytes() != 0)
        fail(ErrorCode::data_loss,
             "there is no data for the weights '{}': open the file of the variables as well",
             m.name());
  }
  const uint32_t replicas = metadata->replicationFactor();
  const program::Shards shards = program::shards_of(p);
  const auto ipus = static_cast<uint32_t>(shards.ipus);
  if (replicas < 1 || replicas > kMaxReplicas || metadata->numIpus() != replicas * ipus)
    fail(ErrorCode::data_loss,
         "the model is for {} IPUs and {} replicas, but its program for {} IPUs a replica",
         metadata->numIpus(), replicas, ipus);
  const uint64_t iterations = metadata->deviceIterations();
  if (iterations < 1 || iterations > kMaxIterations)
    fail(ErrorCode::data_loss, "{} device iterations: expected 1 to {}", iterations,
         kMaxIterations);
  const bool overlap_io = number_of(*metadata, kIoTiles) > 0;
  const bool reproducible = is_reproducible(*metadata);
  auto made = std::make_shared<Model>(
      Model{std::move(name),
            std::move(image),
            file,
            payload,
            replicas,
            static_cast<uint32_t>(iterations),
            ipus,
            static_cast<uint32_t>(shards.pipelined ? shards.shards.size() : 1),
            std::move(data),
            {},
            std::move(*metadata),
            nullptr});
  made->overlap_io = overlap_io;
  made->reproducible = reproducible;
  return made;
}

void read_onnx_metadata(Model& model) {
  const auto blob = model.opaque.find(kOnnxMetadata);
  if (blob == model.opaque.end()) return;
  const auto json = try_parse_ordered_json(blob->second);
  if (!json.is_object())
    fail(ErrorCode::data_loss, "opaque blob '{}' is not a JSON object", kOnnxMetadata);
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string())
      fail(ErrorCode::data_loss, "opaque blob '{}': '{}' is not a string", kOnnxMetadata, key);
    model.onnx_metadata.emplace_back(key, value.get<std::string>());
  }
}

}  // namespace poprt::runtime

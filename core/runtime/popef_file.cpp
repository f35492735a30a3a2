#include "runtime/popef_file.h"

#include "base/error.h"
#include "base/file.h"
#include "popef/model.h"
#include "popef/writer.h"

namespace poprt::runtime {
namespace {

// What caller memory looks like is said twice in a file, by the metadata and by the program. A
// reader of one must not be misled about the other.
void check_anchors(const popef::Metadata& metadata, const std::vector<program::Anchor>& anchors,
                   popef::TensorType type) {
  for (const program::Anchor& a : anchors) {
    const popef::TensorInfo info(popef::data_type_of(a.dtype), a.shape);
    bool found = false;
    for (const popef::Anchor& m : metadata.anchors())
      if (m.type() == type && m.name() == a.name) {
        found = true;
        if (m.tensorInfo() != info)
          fail(ErrorCode::data_loss, "anchor '{}': the metadata says {} {}, the program {} {}",
               a.name, popef::data_type_name(m.tensorInfo().dataType()),
               shape_string(m.tensorInfo().shape()), popef::data_type_name(info.dataType()),
               shape_string(info.shape()));
      }
    if (!found)
      fail(ErrorCode::data_loss, "the metadata has no {} anchor '{}', which the program uses",
           popef::tensor_type_name(type), a.name);
  }
}

std::shared_ptr<const Model> make(std::string name, program::LoadedProgram loaded,
                                  std::span<const std::byte> file,
                                  std::span<const std::byte> payload,
                                  std::shared_ptr<const void> owner) {
  device::Image image;
  image.program = std::make_shared<const program::Program>(std::move(loaded.program));
  image.weights = loaded.weights;
  // Weights may have moved to memory of their own; `file` and `payload` need the first owner.
  struct Owners {
    std::shared_ptr<const void> first, second;
  };
  image.owner = std::make_shared<Owners>(Owners{std::move(loaded.owner), std::move(owner)});
  return make_model(std::move(name), std::move(image), file, payload);
}

}  // namespace

std::shared_ptr<const Model> open_popef(const std::filesystem::path& path) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  try {
    return open_popef(file->bytes(), file);
  } catch (Error& e) {
    e.add_context(fmt::format("'{}'", path.string()));
    throw;
  }
}

std::shared_ptr<const Model> open_popef(std::span<const std::byte> bytes,
                                        std::shared_ptr<const void> owner) {
  auto reader = std::make_shared<popef::Reader>();
  reader->parseMemory(bytes, owner);
  const std::shared_ptr<popef::Model> found = popef::ModelBuilder(reader).createModel();
  const popef::Metadata& metadata = found->metadata;
  if (metadata.numIpus() != 1 || metadata.replicationFactor() != 1)
    fail(ErrorCode::unimplemented, "the model is for {} IPUs and {} replicas, devices have 1 IPU",
         metadata.numIpus(), metadata.replicationFactor());
  const popef::Payload payload = found->executable.payload();
  program::LoadedProgram loaded = program::read_executable(payload.bytes, payload.owner);
  check_anchors(metadata, loaded.program.inputs, popef::TensorType::INPUT);
  check_anchors(metadata, loaded.program.outputs, popef::TensorType::OUTPUT);
  return make(metadata.executable(), std::move(loaded), bytes, {}, std::move(owner));
}

std::shared_ptr<const Model> open_payload(std::string name, std::span<const std::byte> payload,
                                          std::shared_ptr<const void> owner) {
  program::LoadedProgram loaded = program::read_executable(payload, owner);
  return make(std::move(name), std::move(loaded), {}, payload, std::move(owner));
}

std::string executable_name(const std::filesystem::path& path) {
  const std::string stem = path.stem().string();
  return stem.empty() ? "model" : stem;
}

popef::Metadata make_metadata(const std::string& name, const program::Program& program) {
  constexpr uint32_t kLoad = 0, kMain = 1, kSave = 2;
  popef::Metadata m;
  m.setExecutable(name);
  m.setIpuVersion(21);
  m.programsMap() = {{kLoad, "load"}, {kMain, "main"}, {kSave, "save"}};
  if (!program.load.empty()) m.programFlow().setLoad({kLoad});
  m.programFlow().setMain({kMain});
  if (!program.save.empty()) m.programFlow().setSave({kSave});
  const auto add = [&](const program::Anchor& a, popef::TensorType type, const char* prefix) {
    m.anchors().emplace_back(a.name, prefix + a.name,
                             popef::TensorInfo(popef::data_type_of(a.dtype), a.shape), type,
                             popef::Anchor::Programs{kMain});
  };
  for (const program::Anchor& a : program.inputs) add(a, popef::TensorType::INPUT, "h2d_");
  for (const program::Anchor& a : program.outputs) add(a, popef::TensorType::OUTPUT, "anchor_d2h_");
  return m;
}

void write_popef(const std::filesystem::path& path, const std::string& name,
                 const program::Program& program,
                 const std::function<void(const program::Sink&)>& write_payload) {
  popef::FileWriter writer(path.string());
  writer.write(make_metadata(name, program));
  const auto blob = writer.createExecutable(name);
  write_payload([&](std::span<const std::byte> bytes) { blob->write(bytes.data(), bytes.size()); });
  blob->close();
  writer.close();
}

void save_model(const Model& model, const std::filesystem::path& path) {
  if (!model.file.empty()) {
    AtomicFile file(path);
    file.write(model.file);
    file.commit();
    return;
  }
  if (model.payload.empty())
    fail(ErrorCode::failed_precondition, "model '{}' has no executable to save", model.name);
  write_popef(path, model.name, model.program(),
              [&](const program::Sink& sink) { sink(model.payload); });
}

}  // namespace poprt::runtime

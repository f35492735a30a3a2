#include "runtime/session/popef_file.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "popef/model.h"
#include "popef/writer.h"
#include "runtime/queue/payload_buffer.h"
#include "runtime/session/model_source.h"
#include "runtime/session/variants.h"

namespace poprt::runtime {
namespace {

// The metadata and the program both describe the caller's memory. They must agree, because readers
// use either.
void check_anchors(const popef::Metadata& metadata, const std::vector<program::Anchor>& anchors,
                   popef::TensorType type) {
  for (const program::Anchor& a : anchors) {
    bool found = false;
    for (const popef::Anchor& m : metadata.anchors())
      if (m.type() == type && m.name() == a.name) {
        found = true;
        popef::TensorInfo info(popef::data_type_of(a.dtype), a.shape);
        // A program is for one replica.
        if (m.isPerReplica())
          info.shape().insert(info.shape().begin(), metadata.replicationFactor());
        if (m.tensorInfo() != info)
          fail(ErrorCode::data_loss, "anchor '{}': the metadata has {} {}, the program {} {}",
               a.name, popef::data_type_name(m.tensorInfo().dataType()),
               shape_string(m.tensorInfo().shape()), popef::data_type_name(info.dataType()),
               shape_string(info.shape()));
      }
    if (!found)
      fail(ErrorCode::data_loss, "the metadata has no {} anchor '{}', which the program uses",
           popef::tensor_type_name(type), a.name);
  }
}

std::shared_ptr<Model> make(std::string name, program::LoadedProgram loaded,
                            std::span<const std::byte> file, std::span<const std::byte> payload,
                            std::shared_ptr<const void> owner,
                            std::optional<popef::Metadata> metadata = std::nullopt,
                            std::span<const InputData> input_data = {}) {
  device::Image image;
  image.program = std::make_shared<const program::Program>(std::move(loaded.program));
  image.weights = loaded.weights;
  const std::vector<program::NarrowWeights> narrow = std::move(loaded.narrow);
  // Weights may have been moved to separate memory; `file` and `payload` need the original owner.
  struct Owners {
    std::shared_ptr<const void> first, second;
  };
  image.owner = std::make_shared<Owners>(Owners{std::move(loaded.owner), std::move(owner)});
  auto made = std::make_shared<Model>(*make_model(std::move(name), std::move(image), file, payload,
                                                  std::move(metadata), input_data));
  made->narrow = narrow;
  return made;
}

// The kernels that run a program define its meaning, so an executable is valid for the version that
// compiled it.
void check_package(const std::string& package, const OpenOptions& options) {
  if (!options.check_package_hash || package == program::package()) return;
  fail(
      ErrorCode::failed_precondition,
      "Error reading executable - package hash ({}) differs from poprt hash ({}); compile the "
      "model again with this version (poprt_exec recompile), or turn check_package_hash off to run "
      "it all the same",
      package, program::package());
}

// `file` is as in Model.
std::shared_ptr<const Model> build(const std::shared_ptr<const popef::Model>& found,
                                   std::span<const std::byte> file,
                                   std::shared_ptr<const void> owner, const OpenOptions& options) {
  const popef::Metadata& metadata = found->metadata;
  struct Owners {
    std::shared_ptr<const void> executable, weights;
    std::vector<std::shared_ptr<const void>> data;
  };
  const popef::Payload payload = found->executable.payload();
  popef::Payload weights;
  if (const auto* tensor = found->findTensor(std::string(kWeightsName)))
    weights = tensor->payload();
  const auto owners = std::make_shared<Owners>(Owners{payload.owner, weights.owner, {}});
  std::vector<InputData> input_data;
  const auto keep = [&](const std::string& name, const popef::Payload& data) {
    input_data.push_back({name, data.bytes});
    owners->data.push_back(data.owner);
  };
  for (const auto& f : found->feeds) keep(f.info.name(), f.payload());
  for (const auto& t : found->tensors)
    if (t.info.name() != kWeightsName) keep(t.info.name(), t.payload());
  program::LoadedProgram loaded;
  try {
    loaded = program::read_executable(payload.bytes, weights.bytes, owners);
    check_package(loaded.package, options);
  } catch (Error& e) {
    e.add_context(fmt::format("Failed to deserialize '{}'", metadata.executable()));
    throw;
  }
  check_anchors(metadata, loaded.program.inputs, popef::TensorType::INPUT);
  check_anchors(metadata, loaded.program.outputs, popef::TensorType::OUTPUT);
  // Blobs may have been decompressed into separate memory.
  struct All {
    std::shared_ptr<const void> file, blobs;
  };
  const program::Notes notes = std::move(loaded.notes);
  const auto made =
      make(metadata.executable(), std::move(loaded), file, {},
           std::make_shared<All>(All{std::move(owner), owners}), metadata, input_data);
  made->blobs = found;
  constexpr uint64_t kMaxOpaque = uint64_t{1} << 24;  // the runtime does not use larger blobs
  for (const popef::OpaqueReader& blob : found->opaqueBlobs) {
    if (blob.size() > kMaxOpaque || is_source_blob(blob.name)) continue;
    const popef::Payload text = blob.payload();
    made->opaque.emplace(blob.name, std::string(reinterpret_cast<const char*>(text.bytes.data()),
                                                text.bytes.size()));
  }
  for (auto& [name, text] : notes) made->opaque.emplace(name, text);
  read_onnx_metadata(*made);
  read_variants(*made);
  return made;
}

std::shared_ptr<const Model> build(const std::shared_ptr<popef::Reader>& reader,
                                   std::span<const std::byte> file,
                                   std::shared_ptr<const void> owner, const OpenOptions& options) {
  const popef::ModelBuilder builder(reader);
  try {
    return build(options.executable.empty() ? builder.createModel()
                                            : builder.createModel(options.executable),
                 file, std::move(owner), options);
  } catch (const Error& e) {
    // If a checksum is wrong, the damage is the cause of the error, so the error of the checksum is
    // thrown instead. Other blobs than those of metadata may be large, so they are read only if
    // something is damaged.
    popef::verify_blobs(reader->metadataBlobs());
    if (e.code() == ErrorCode::data_loss) reader->verify();
    throw;
  }
}

// Reads sequentially, because page faults in random order are slow on a network file system.
void preload(const std::filesystem::path& path) {
  const char* wanted = std::getenv("POPART_PRELOAD_POPEF");
  if (!wanted || std::string_view(wanted) != "full-preload") return;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(size_t{1} << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size()))) continue;
}

// Opens the bytes of a whole file; `source` is its path or another name.
std::shared_ptr<const Model> open_bytes(std::span<const std::byte> bytes,
                                        std::shared_ptr<const void> owner,
                                        const std::string& source, const OpenOptions& options) {
  auto reader = std::make_shared<popef::Reader>();
  reader->parseMemory(bytes, owner, source);
  return build(reader, bytes, std::move(owner), options);
}

}  // namespace

std::shared_ptr<const Model> open_popef(const std::filesystem::path& path,
                                        const OpenOptions& options) {
  preload(path);
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  try {
    return open_bytes(file->bytes(), file, path.string(), options);
  } catch (Error& e) {
    // The reader of the file has already added its path to some errors.
    if (e.message().find(path.string()) == std::string::npos)
      e.add_context(fmt::format("'{}'", path.string()));
    throw;
  }
}

std::shared_ptr<const Model> open_popef(std::span<const std::filesystem::path> paths,
                                        const OpenOptions& options) {
  if (paths.size() == 1) return open_popef(paths[0], options);
  if (paths.empty()) fail(ErrorCode::invalid_argument, "no PopEF file was given");
  const auto reader = std::make_shared<popef::Reader>();
  for (const std::filesystem::path& path : paths) {
    preload(path);
    reader->parseFile(path.string());
  }
  try {
    return build(reader, {}, nullptr, options);
  } catch (Error& e) {
    e.add_context(fmt::format("'{}' and {} more", paths[0].string(), paths.size() - 1));
    throw;
  }
}

std::shared_ptr<const Model> open_popef(std::span<const std::byte> bytes,
                                        std::shared_ptr<const void> owner,
                                        const OpenOptions& options) {
  return open_bytes(bytes, std::move(owner), "memory", options);
}

std::shared_ptr<const Model> open_popef(const std::shared_ptr<const popef::Model>& model,
                                        const OpenOptions& options) {
  return build(model, {}, nullptr, options);
}

std::shared_ptr<const Model> copied_model(const std::shared_ptr<const Model>& model) {
  if (!model->blobs) return model;
  struct Owners {
    std::shared_ptr<const void> weights, data, file;  // save_model() uses the file
  };
  const auto copied = std::make_shared<Model>(*model);
  const auto weights = std::make_shared<PayloadBuffer>(), data = std::make_shared<PayloadBuffer>();
  copy_mapped(model->image.weights, weights->extend(model->image.weights.size()));
  copied->image.weights = weights->bytes();
  // A value begins at a multiple of 64.
  size_t bytes = 0;
  for (const auto& value : model->input_data) bytes += align_up(value.size(), 64);
  const std::span<std::byte> values = data->extend(bytes);
  size_t at = 0;
  for (auto& value : copied->input_data) {
    if (value.empty()) continue;
    const std::span<std::byte> to = values.subspan(at, value.size());
    copy_mapped(value, to);
    at += align_up(value.size(), 64);
    value = to;
  }
  copied->image.owner = std::make_shared<Owners>(Owners{weights, data, model->image.owner});
  return copied;
}

void verify_model(const Model& model) {
  if (!model.blobs) return;
  const size_t without = model.blobs->verify();
  if (without != 0)
    log().warn("model '{}': {} blobs have no checksum, so nothing was verified in them", model.name,
               without);
}

std::shared_ptr<const Model> open_payload(std::string name, std::span<const std::byte> payload,
                                          std::shared_ptr<const void> owner) {
  program::LoadedProgram loaded = program::read_executable(payload, owner);
  const program::Notes notes = std::move(loaded.notes);
  const auto made = make(std::move(name), std::move(loaded), {}, payload, std::move(owner));
  made->opaque = notes;
  read_onnx_metadata(*made);
  read_variants(*made);
  return made;
}

std::string executable_name(const std::filesystem::path& path) {
  const std::string stem = path.stem().string();
  return stem.empty() ? "model" : stem;
}

namespace {

void write_opaque(popef::Writer& writer, const std::string& executable,
                  const std::map<std::string, std::string>& blobs) {
  for (const auto& [name, data] : blobs)
    writer.createOpaqueBlob(name, executable)->write(data.data(), data.size());
}

}  // namespace

namespace {

// A program without the data of its inputs, as a file stores it: the data is in tensor blobs.
struct Parts {
  program::Program program;
  std::vector<program::Weight> weights;
  std::vector<std::pair<popef::TensorDataInfo, program::Weight>> variables;
  std::vector<program::NarrowWeights> narrow;
};

Parts take_apart(const program::Program& program, std::span<const program::Weight> weights,
                 std::span<const program::NarrowWeights> narrow) {
  Parts parts{program, {}, {}, {narrow.begin(), narrow.end()}};
  program::Program& p = parts.program;
  for (program::Anchor& a : p.inputs)
    for (const program::Weight& w : weights) {
      if (w.offset != a.data || w.bytes != a.bytes()) continue;
      const popef::TensorInfo info(popef::data_type_of(a.dtype), a.shape);
      parts.variables.emplace_back(popef::TensorDataInfo{a.name, info}, w);
      a.data = program::kNoData;
      break;
    }
  if (parts.variables.empty()) {
    parts.weights.assign(weights.begin(), weights.end());
    return parts;
  }
  // Weights that instructions use stay, even if an input's data shares them.
  uint64_t end = 0;
  for (const program::Buffer& b : p.buffers)
    if (b.space == program::Space::weights) end = std::max(end, b.offset + b.bytes);
  for (const program::Anchor& a : p.inputs)
    if (a.data != program::kNoData) end = std::max(end, a.data + a.bytes());
  for (const program::Weight& w : weights)
    if (w.offset < end) parts.weights.push_back(w);
  for (const program::Weight& w : parts.weights) end = std::max(end, w.offset + w.bytes);
  p.weights_bytes = std::min(p.weights_bytes, align_up(end, 64));
  std::erase_if(parts.narrow, [&](const auto& n) { return n.offset + n.bytes > p.weights_bytes; });
  return parts;
}

// The payload of the executable blob of a model with a file or a payload.
popef::Payload payload_of(const Model& model) {
  if (!model.payload.empty()) return {model.payload, model.image.owner};
  if (!model.blobs)
    fail(ErrorCode::failed_precondition, "model '{}' has no executable to save", model.name);
  return model.blobs->executable.payload();
}

// Records that fill the weights of a model in memory: the data of inputs, weights that the payload
// stores in a narrow type, and the weights between them. The model must outlive them.
std::vector<program::Weight> weight_records(const Model& model) {
  std::vector<uint64_t> borders = {0, model.image.weights.size()};
  for (const program::Anchor& a : model.inputs())
    if (a.data != program::kNoData) borders.insert(borders.end(), {a.data, a.data + a.bytes()});
  for (const program::NarrowWeights& n : model.narrow)
    borders.insert(borders.end(), {n.offset, n.offset + n.bytes});
  std::sort(borders.begin(), borders.end());
  std::vector<program::Weight> weights;
  for (size_t i = 1; i < borders.size(); i++) {
    const uint64_t at = borders[i - 1], bytes = borders[i] - at;
    if (bytes == 0) continue;
    weights.push_back({at, bytes, [from = model.image.weights.subspan(at, bytes)](auto to) {
                         std::memcpy(to.data(), from.data(), to.size());
                       }});
  }
  return weights;
}

Parts take_apart(const Model& model) {
  return take_apart(model.program(), weight_records(model), model.narrow);
}

// Whether the payload of a model in memory contains objects that have separate blobs in a file: the
// data of inputs, and notes.
bool has_more_than_a_file(const Model& model) {
  const std::vector<program::Anchor>& inputs = model.inputs();
  return !model.opaque.empty() ||
         std::any_of(inputs.begin(), inputs.end(),
                     [](const program::Anchor& a) { return a.data != program::kNoData; });
}

void write_executable(popef::Writer& writer, const std::string& name, const Parts& parts) {
  const bool bytes =
      std::ranges::any_of(parts.narrow, [](const auto& n) { return dtype_bits(n.dtype) <= 8; });
  const auto blob = writer.createExecutable(name, bytes);
  program::write_executable(
      [&](std::span<const std::byte> piece) { blob->write(piece.data(), piece.size()); },
      parts.program, parts.weights, {}, parts.narrow);
  blob->close();
}

void write_variables(popef::Writer& writer, const std::string& name, const Parts& parts,
                     const popef::Model* except = nullptr) {
  std::vector<std::byte> bytes;
  for (const auto& [info, weight] : parts.variables) {
    if (except && except->findTensor(info.name())) continue;  // copy_data() writes its own value
    bytes.resize(weight.bytes);
    weight.fill(bytes);
    writer.createTensorData(info, name)->write(bytes.data(), bytes.size());
  }
}

}  // namespace

void write_popef(const std::filesystem::path& path, const std::string& name,
                 const program::Program& program, std::span<const program::Weight> weights,
                 const std::map<std::string, std::string>& opaque,
                 std::vector<popef::Option> engine_options,
                 std::span<const program::NarrowWeights> narrow,
                 const std::function<std::vector<popef::Option>()>& late_options) {
  const Parts parts = take_apart(program, weights, narrow);
  popef::Metadata metadata = make_metadata(name, program);
  set_engine_options(metadata, std::move(engine_options));
  popef::FileWriter writer(path.string());
  if (parts.narrow.empty()) writer.reserve(parts.program.weights_bytes);
  writer.write(metadata);
  write_executable(writer, name, parts);
  write_variables(writer, name, parts);
  write_opaque(writer, name, opaque);
  if (late_options) {
    set_engine_options(metadata, late_options());
    writer.rewrite(metadata);
  }
  writer.close();
}

namespace {

void copy_blob(const popef::BlobData& blob, popef::BlobWriter& to) {
  const popef::Payload payload = blob.payload();
  to.write(payload.bytes.data(), payload.bytes.size());
  to.close();
}

// Copies the blobs of the files, then those that were added.
void copy_opaque(const Model& from, popef::Writer& writer) {
  std::map<std::string, std::string> added = from.opaque;
  if (from.blobs)
    for (const auto& b : from.blobs->opaqueBlobs) {
      copy_blob(b, *writer.createOpaqueBlob(b.name, b.executable));
      added.erase(b.name);
    }
  write_opaque(writer, from.name, added);
}

// `except` is the name of a tensor that is not copied.
void copy_data(const popef::Model& from, popef::Writer& writer, std::string_view except = {}) {
  for (const auto& t : from.tensors)
    if (t.info.name() != except) copy_blob(t, *writer.createTensorData(t.info, t.executable));
  for (const auto& f : from.feeds) copy_blob(f, *writer.createFeedData(f.info, f.executable));
}

// Throws if a model in memory has anchors of types that PopEF does not have.
popef::Metadata metadata_of(const Model& model) {
  if (model.blobs) return model.metadata;
  popef::Metadata metadata = make_metadata(model.name, model.program());
  set_engine_options(metadata, model.metadata.engineOptions());
  metadata.setDeviceIterations(model.metadata.deviceIterations());
  return metadata;
}

// `metadata` is used if the model was not opened from PopEF.
void write_blobs(const Model& model, popef::Writer& writer, const popef::Metadata& metadata) {
  if (model.blobs) {
    const popef::ExecutableReader& executable = model.blobs->executable;
    writer.write(model.blobs->metadata);
    copy_blob(executable, *writer.createExecutable(executable.name, executable.blob().compressed));
    copy_data(*model.blobs, writer);
  } else {
    const popef::Payload payload = payload_of(model);
    writer.write(metadata);
    if (has_more_than_a_file(model)) {
      const Parts parts = take_apart(model);
      write_executable(writer, model.name, parts);
      write_variables(writer, model.name, parts);
    } else {
      writer.createExecutable(model.name)->write(payload.bytes.data(), payload.bytes.size());
    }
  }
  copy_opaque(model, writer);
  writer.close();
}

}  // namespace

void save_model(const Model& model, std::ostream& stream) {
  if (!model.file.empty()) {
    stream.write(reinterpret_cast<const char*>(model.file.data()),
                 static_cast<std::streamsize>(model.file.size()));
    if (!stream)
      fail(ErrorCode::resource_exhausted, "cannot write model '{}' to its stream", model.name);
    return;
  }
  popef::Writer writer(stream);
  write_blobs(model, writer, metadata_of(model));
}

std::shared_ptr<const popef::Model> popef_model(const Model& model) {
  if (model.blobs) return model.blobs;
  const auto bytes = std::make_shared<std::stringstream>();
  popef::Writer writer(*bytes);
  write_blobs(model, writer, model.metadata);
  const auto reader = std::make_shared<popef::Reader>();
  reader->parseStream(bytes);
  return popef::ModelBuilder(reader).createModel();
}

void save_parts(const Model& model, const std::filesystem::path& executable,
                const std::filesystem::path& variables) {
  const popef::Payload payload = payload_of(model);
  popef::Metadata metadata = metadata_of(model);
  const bool has_variables =
      std::any_of(metadata.anchors().begin(), metadata.anchors().end(),
                  [&](const popef::Anchor& a) { return is_variable(metadata, a); });
  if (has_variables) {
    popef::FileWriter first(executable.string()), second(variables.string());
    first.write(metadata);
    if (has_more_than_a_file(model)) {
      const Parts parts = take_apart(model);
      write_executable(first, model.name, parts);
      write_variables(second, model.name, parts, model.blobs.get());
    } else {
      first.createExecutable(model.name)->write(payload.bytes.data(), payload.bytes.size());
    }
    copy_opaque(model, first);
    if (model.blobs) copy_data(*model.blobs, second);
    second.close();
    first.close();
    return;
  }
  const std::vector<std::byte> program = program::without_weights(payload.bytes);
  const std::string name(kWeightsName);
  // The weights in stored form. If the payload has no weights, they are separate already.
  std::span<const std::byte> weights = program::weights_of(payload.bytes);
  popef::Payload apart;
  if (weights.empty() && model.blobs)
    if (const auto* tensor = model.blobs->findTensor(name))
      weights = (apart = tensor->payload()).bytes;
  const popef::TensorInfo info(popef::DataType::U8, {static_cast<int64_t>(weights.size())});
  std::erase_if(metadata.anchors(), [&](const popef::Anchor& a) { return a.name() == name; });
  metadata.anchors().emplace_back(name, "", info, popef::TensorType::UNKNOWN,
                                  popef::Anchor::Programs{});
  popef::FileWriter first(executable.string()), second(variables.string());
  first.write(metadata);
  first.createExecutable(model.name)->write(program.data(), program.size());
  second.createTensorData({name, info}, model.name)->write(weights.data(), weights.size());
  copy_opaque(model, first);
  if (model.blobs) copy_data(*model.blobs, second, name);
  second.close();
  first.close();
}

void save_model(const Model& model, const std::filesystem::path& path) {
  if (!model.file.empty()) {
    AtomicFile file(path);
    file.write(model.file);
    file.commit();
    return;
  }
  popef::FileWriter writer(path.string());
  write_blobs(model, writer, metadata_of(model));
}

}  // namespace poprt::runtime

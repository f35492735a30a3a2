// The values in a PopEF file, with the names of the PopEF library: x() reads, a mutable x() changes
// containers, setX() sets. popef_metadata.h documents each field.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "poprt/anchor.hpp"
#include "poprt/error.hpp"
#include "poprt/popef_metadata.h"
#include "poprt/popef_reader.h"

namespace popef {

// The exceptions of the PopEF functions. popef_reader.h and popef_writer.h list the codes.
class Error : public poprt::Error {
  using poprt::Error::Error;
};
// A file cannot be opened, read or written.
class FileError : public Error {
  using Error::Error;
};
// Bytes violate the format: truncated, out of bounds, contradictory.
class FormatError : public Error {
  using Error::Error;
};
// The file needs a newer library.
class VersionError : public Error {
  using Error::Error;
};
// A name that must be unique is duplicated, or the target of a reference is missing.
class LinkError : public Error {
  using Error::Error;
};
// A writer was used after it was closed or replaced by the next one, or after it failed.
class InactiveWriterError : public Error {
  using Error::Error;
};
// Data does not have the declared size.
class SizeError : public Error {
  using Error::Error;
};

namespace impl {

inline void check(poprt_error* error) {
  if (!error) return;
  const std::unique_ptr<poprt_error, decltype(&poprt_error_free)> owner(error, poprt_error_free);
  const auto code = static_cast<ErrorCode>(poprt_error_get_code(error));
  const char* message = poprt_error_message(error);
  switch (poprt_popef_error_get_class(error)) {
    case POPRT_POPEF_FILE_ERROR: throw FileError(code, message);
    case POPRT_POPEF_FORMAT_ERROR: throw FormatError(code, message);
    case POPRT_POPEF_VERSION_ERROR: throw VersionError(code, message);
    case POPRT_POPEF_LINK_ERROR: throw LinkError(code, message);
    case POPRT_POPEF_INACTIVE_WRITER: throw InactiveWriterError(code, message);
    case POPRT_POPEF_SIZE_ERROR: throw SizeError(code, message);
    default: throw Error(code, message);
  }
}

}  // namespace impl

using poprt::DataType;
using ShapeDimType = int64_t;

enum class TensorType : int32_t {
  UNKNOWN = POPRT_POPEF_UNKNOWN,
  INPUT = POPRT_POPEF_INPUT,
  OUTPUT = POPRT_POPEF_OUTPUT,
};

enum class BlobType : int32_t {
  POPLAR_EXECUTABLE = POPRT_POPEF_EXECUTABLE,
  METADATA = POPRT_POPEF_METADATA_BLOB,
  DATA_TENSOR = POPRT_POPEF_TENSOR,
  DATA_FEED = POPRT_POPEF_FEED,
  OPAQUE = POPRT_POPEF_OPAQUE,
};

class TensorInfo {
 public:
  TensorInfo() = default;
  TensorInfo(DataType type, std::vector<ShapeDimType> shape)
      : type_(type), shape_(std::move(shape)) {}

  DataType dataType() const { return type_; }
  void setDataType(DataType type) { type_ = type; }
  const std::vector<ShapeDimType>& shape() const { return shape_; }
  std::vector<ShapeDimType>& shape() { return shape_; }
  void setShape(std::vector<ShapeDimType> shape) { shape_ = std::move(shape); }
  // The product of the dimensions times the element size, rounded up to whole bytes; a scalar has
  // one element. Throws invalid_argument for a negative dimension and on overflow.
  uint64_t sizeInBytes() const {
    const auto bits = static_cast<uint64_t>(poprt_dtype_bits(static_cast<poprt_dtype>(type_)));
    const uint64_t together = bits > 0 && bits < 8 ? 8 / bits : 1;  // elements per byte
    uint64_t bytes = together > 1 ? 1 : bits / 8;
    for (const int64_t dim : shape_) {
      if (dim < 0 || (dim > 0 && bytes > UINT64_MAX / static_cast<uint64_t>(dim)))
        throw SizeError(ErrorCode::invalid_argument,
                        "tensor dimension " + std::to_string(dim) + " is negative or too large");
      bytes *= static_cast<uint64_t>(dim);
    }
    return bytes / together + (bytes % together != 0);
  }
  bool operator==(const TensorInfo& o) const { return type_ == o.type_ && shape_ == o.shape_; }
  bool operator!=(const TensorInfo& o) const { return !(*this == o); }

 private:
  DataType type_ = DataType::F32;
  std::vector<ShapeDimType> shape_;
};

class TensorDataInfo {
 public:
  TensorDataInfo() = default;
  TensorDataInfo(std::string name, TensorInfo info)
      : name_(std::move(name)), info_(std::move(info)) {}

  const std::string& name() const { return name_; }  // an anchor's name
  void setName(std::string name) { name_ = std::move(name); }
  const TensorInfo& tensorInfo() const { return info_; }
  TensorInfo& tensorInfo() { return info_; }
  void setTensorInfo(TensorInfo info) { info_ = std::move(info); }

 private:
  std::string name_;
  TensorInfo info_;
};

// A sequence of values of one input, all with the same info.
class FeedDataInfo : public TensorDataInfo {
 public:
  FeedDataInfo() = default;
  FeedDataInfo(std::string name, TensorInfo info, int64_t tensors)
      : TensorDataInfo(std::move(name), std::move(info)), tensors_(tensors) {}
  int64_t numTensors() const { return tensors_; }
  void setNumTensors(int64_t tensors) { tensors_ = tensors; }

 private:
  int64_t tensors_ = 0;
};

class Option {
 public:
  Option(std::string name, std::string value) : name_(std::move(name)), value_(std::move(value)) {}
  const std::string& name() const { return name_; }
  const std::string& value() const { return value_; }

 private:
  std::string name_, value_;
};

class ProgramFlow {
 public:
  using ProgramIndexType = uint32_t;
  using Indices = std::vector<ProgramIndexType>;

  const Indices& load() const { return load_; }
  const Indices& main() const { return main_; }
  const Indices& save() const { return save_; }
  Indices& load() { return load_; }
  Indices& main() { return main_; }
  Indices& save() { return save_; }
  void setLoad(Indices programs) { load_ = std::move(programs); }
  void setMain(Indices programs) { main_ = std::move(programs); }
  void setSave(Indices programs) { save_ = std::move(programs); }

 private:
  Indices load_, main_, save_;
};

class Anchor {
 public:
  using ProgramsType = uint32_t;
  using Programs = std::vector<ProgramsType>;

  Anchor() = default;
  Anchor(std::string name, std::string handle, TensorInfo info, TensorType type, Programs programs,
         bool isPerReplica = false)
      : name_(std::move(name)),
        handle_(std::move(handle)),
        info_(std::move(info)),
        programs_(std::move(programs)),
        type_(type),
        isPerReplica_(isPerReplica) {}

  const std::string& name() const { return name_; }
  void setName(std::string name) { name_ = std::move(name); }
  const std::string& handle() const { return handle_; }
  void setHandle(std::string handle) { handle_ = std::move(handle); }
  const TensorInfo& tensorInfo() const { return info_; }
  TensorInfo& tensorInfo() { return info_; }
  void setTensorInfo(TensorInfo info) { info_ = std::move(info); }
  bool isPerReplica() const { return isPerReplica_; }
  void setIsPerReplica(bool value) { isPerReplica_ = value; }
  TensorType type() const { return type_; }
  void setType(TensorType type) { type_ = type; }
  const Programs& programs() const { return programs_; }
  Programs& programs() { return programs_; }
  void setPrograms(Programs programs) { programs_ = std::move(programs); }

 private:
  std::string name_, handle_;
  TensorInfo info_;
  Programs programs_;
  TensorType type_ = TensorType::UNKNOWN;
  bool isPerReplica_ = false;
};

class Metadata {
 public:
  using ProgramsMap = std::unordered_map<ProgramFlow::ProgramIndexType, std::string>;

  // tests/lint/popef_fields.py generates these from core/popef/metadata.toml.
  // <popef:accessors>
  const std::string& executable() const { return executable_; }
  void setExecutable(std::string value) { executable_ = std::move(value); }
  int64_t replicationFactor() const { return replicationFactor_; }
  void setReplicationFactor(int64_t value) { replicationFactor_ = value; }
  int64_t numIpus() const { return numIpus_; }
  void setNumIpus(int64_t value) { numIpus_ = value; }
  int64_t ipuVersion() const { return ipuVersion_; }
  void setIpuVersion(int64_t value) { ipuVersion_ = value; }
  bool isPOD() const { return isPod_; }
  void setIsPOD(bool value) { isPod_ = value; }
  int64_t numProcesses() const { return numProcesses_; }
  void setNumProcesses(int64_t value) { numProcesses_ = value; }
  bool isInference() const { return isInference_; }
  void setIsInference(bool value) { isInference_ = value; }
  int64_t deviceIterations() const { return deviceIterations_; }
  void setDeviceIterations(int64_t value) { deviceIterations_ = value; }
  const std::string& seedHandle() const { return seedHandle_; }
  void setSeedHandle(std::string value) { seedHandle_ = std::move(value); }
  // </popef:accessors>

  const std::vector<Option>& engineOptions() const { return engineOptions_; }
  std::vector<Option>& engineOptions() { return engineOptions_; }
  void setEngineOptions(std::vector<Option> options) { engineOptions_ = std::move(options); }
  const std::vector<Option>& deviceOptions() const { return deviceOptions_; }
  std::vector<Option>& deviceOptions() { return deviceOptions_; }
  void setDeviceOptions(std::vector<Option> options) { deviceOptions_ = std::move(options); }
  const std::vector<Anchor>& anchors() const { return anchors_; }
  std::vector<Anchor>& anchors() { return anchors_; }
  void setAnchors(std::vector<Anchor> anchors) { anchors_ = std::move(anchors); }
  const ProgramFlow& programFlow() const { return programFlow_; }
  ProgramFlow& programFlow() { return programFlow_; }
  void setProgramFlow(ProgramFlow flow) { programFlow_ = std::move(flow); }
  const ProgramsMap& programsMap() const { return programsMap_; }
  ProgramsMap& programsMap() { return programsMap_; }
  void setProgramsMap(ProgramsMap map) { programsMap_ = std::move(map); }

 private:
  // <popef:members>
  std::string executable_;
  int64_t replicationFactor_ = 1;
  int64_t numIpus_ = 1;
  int64_t ipuVersion_ = 2;
  bool isPod_ = false;
  int64_t numProcesses_ = 1;
  bool isInference_ = true;
  int64_t deviceIterations_ = 1;
  std::string seedHandle_;
  // </popef:members>
  std::vector<Option> engineOptions_, deviceOptions_;
  std::vector<Anchor> anchors_;
  ProgramFlow programFlow_;
  ProgramsMap programsMap_;
};

namespace impl {

struct FreeMetadata {
  void operator()(poprt_popef_metadata* m) const { poprt_popef_metadata_free(m); }
};
using MetadataHandle = std::unique_ptr<poprt_popef_metadata, FreeMetadata>;

inline TensorInfo tensorInfoOf(poprt_dtype dtype, const int64_t* shape, size_t rank) {
  return {static_cast<DataType>(dtype), std::vector<int64_t>(shape, shape + rank)};
}

inline Anchor anchorOf(const poprt_popef_metadata* m, size_t index) {
  poprt_popef_anchor a{};
  a.struct_size = sizeof a;
  check(poprt_popef_metadata_anchor(m, index, &a));
  return {a.name,
          a.handle,
          tensorInfoOf(a.dtype, a.shape, a.rank),
          static_cast<TensorType>(a.type),
          Anchor::Programs(a.programs, a.programs + a.program_count),
          a.is_per_replica != 0};
}

inline Metadata fromHandle(const poprt_popef_metadata* m) {
  Metadata result;
  const auto get = [&](poprt_popef_field field) { return poprt_popef_metadata_get(m, field); };
  // <popef:reads>
  result.setExecutable(poprt_popef_metadata_executable(m));
  result.setReplicationFactor(get(POPRT_POPEF_REPLICATION_FACTOR));
  result.setNumIpus(get(POPRT_POPEF_NUM_IPUS));
  result.setIpuVersion(get(POPRT_POPEF_IPU_VERSION));
  result.setIsPOD(get(POPRT_POPEF_IS_POD) != 0);
  result.setNumProcesses(get(POPRT_POPEF_NUM_PROCESSES));
  result.setIsInference(get(POPRT_POPEF_IS_INFERENCE) != 0);
  result.setDeviceIterations(get(POPRT_POPEF_DEVICE_ITERATIONS));
  result.setSeedHandle(poprt_popef_metadata_seed_handle(m));
  // </popef:reads>
  const auto options = [&](poprt_popef_option_list list) {
    std::vector<Option> all;
    for (size_t i = 0; i < poprt_popef_metadata_option_count(m, list); i++) {
      const char* value = nullptr;
      const char* name = poprt_popef_metadata_option(m, list, i, &value);
      all.emplace_back(name, value);
    }
    return all;
  };
  result.setEngineOptions(options(POPRT_POPEF_ENGINE_OPTIONS));
  result.setDeviceOptions(options(POPRT_POPEF_DEVICE_OPTIONS));
  const auto flow = [&](poprt_popef_flow which) {
    size_t count = 0;
    const uint32_t* programs = poprt_popef_metadata_flow(m, which, &count);
    return ProgramFlow::Indices(programs, programs + count);
  };
  result.programFlow().setLoad(flow(POPRT_POPEF_LOAD));
  result.programFlow().setMain(flow(POPRT_POPEF_MAIN));
  result.programFlow().setSave(flow(POPRT_POPEF_SAVE));
  for (size_t i = 0; i < poprt_popef_metadata_program_count(m); i++) {
    uint32_t program = 0;
    const char* name = poprt_popef_metadata_program(m, i, &program);
    result.programsMap()[program] = name;
  }
  for (size_t i = 0; i < poprt_popef_metadata_anchor_count(m); i++)
    result.anchors().push_back(anchorOf(m, i));
  return result;
}

inline MetadataHandle toHandle(const Metadata& from) {
  poprt_popef_metadata* made = nullptr;
  check(poprt_popef_metadata_create(nullptr, &made));
  MetadataHandle m(made);
  const auto set = [&](poprt_popef_field field, int64_t value) {
    check(poprt_popef_metadata_set(made, field, value));
  };
  // <popef:writes>
  check(poprt_popef_metadata_set_executable(made, detail::text(from.executable(), "executable")));
  set(POPRT_POPEF_REPLICATION_FACTOR, from.replicationFactor());
  set(POPRT_POPEF_NUM_IPUS, from.numIpus());
  set(POPRT_POPEF_IPU_VERSION, from.ipuVersion());
  set(POPRT_POPEF_IS_POD, from.isPOD());
  set(POPRT_POPEF_NUM_PROCESSES, from.numProcesses());
  set(POPRT_POPEF_IS_INFERENCE, from.isInference());
  set(POPRT_POPEF_DEVICE_ITERATIONS, from.deviceIterations());
  check(poprt_popef_metadata_set_seed_handle(made, detail::text(from.seedHandle(), "seedHandle")));
  // </popef:writes>
  const auto add = [&](poprt_popef_option_list list, const std::vector<Option>& options) {
    for (const Option& o : options)
      check(poprt_popef_metadata_add_option(made, list, detail::text(o.name(), "name"),
                                            detail::text(o.value(), "value")));
  };
  add(POPRT_POPEF_ENGINE_OPTIONS, from.engineOptions());
  add(POPRT_POPEF_DEVICE_OPTIONS, from.deviceOptions());
  const auto flow = [&](poprt_popef_flow which, const ProgramFlow::Indices& programs) {
    check(poprt_popef_metadata_set_flow(made, which, programs.data(), programs.size()));
  };
  flow(POPRT_POPEF_LOAD, from.programFlow().load());
  flow(POPRT_POPEF_MAIN, from.programFlow().main());
  flow(POPRT_POPEF_SAVE, from.programFlow().save());
  for (const auto& [program, name] : from.programsMap())
    check(poprt_popef_metadata_set_program(made, program, detail::text(name, "name")));
  for (const Anchor& anchor : from.anchors()) {
    poprt_popef_anchor a{};
    a.struct_size = sizeof a;
    a.name = detail::text(anchor.name(), "name");
    a.handle = detail::text(anchor.handle(), "handle");
    a.type = static_cast<poprt_popef_anchor_type>(anchor.type());
    a.dtype = static_cast<poprt_dtype>(anchor.tensorInfo().dataType());
    a.shape = anchor.tensorInfo().shape().data();
    a.rank = anchor.tensorInfo().shape().size();
    a.programs = anchor.programs().data();
    a.program_count = anchor.programs().size();
    a.is_per_replica = anchor.isPerReplica();
    check(poprt_popef_metadata_add_anchor(made, &a));
  }
  return m;
}

}  // namespace impl
}  // namespace popef

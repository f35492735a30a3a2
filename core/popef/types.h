// The values in a PopEF file: tensor infos, anchors, program flow, metadata. They are plain data
// with the accessors of the PopEF library: x() reads, a mutable x() is for containers, setX()
// writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace poprt::popef {

// Files contain these numbers, so new types are only appended.
enum class DataType : uint32_t {
  BOOL = 0,
  F8 = 1,  // the generic one-byte float of older files
  F16 = 2,
  F32 = 3,
  F64 = 4,
  S8 = 5,
  U8 = 6,
  S16 = 7,
  U16 = 8,
  S32 = 9,
  U32 = 10,
  S64 = 11,
  U64 = 12,
  F8143 = 13,
  F8152 = 14,
};
inline constexpr uint32_t kDataTypeCount = 15;

// INPUT: host to device. OUTPUT: device to host. UNKNOWN: data without a stream.
enum class TensorType : uint32_t { UNKNOWN = 0, INPUT = 1, OUTPUT = 2 };

enum class BlobType : uint32_t {
  POPLAR_EXECUTABLE = 1,
  METADATA = 2,
  DATA_TENSOR = 3,
  DATA_FEED = 4,
  OPAQUE = 5,
};

using ShapeDimType = int64_t;

std::string_view data_type_name(DataType type);      // "F32"; "INVALID" for unknown numbers
std::string_view tensor_type_name(TensorType type);  // "INPUT"
std::string_view blob_type_name(BlobType type);      // "POPLAR_EXECUTABLE"
uint64_t data_type_bytes(DataType type);             // of one element; throws FormatError

// Throws SizeError for types that PopEF does not have, such as bf16, f8e4m3fn, sub-byte types,
// string and complex ones. f8e4m3fnuz and f8e5m2fnuz become F8143 and F8152.
DataType data_type_of(DType dtype);
// F8 becomes f8_143. Throws FormatError for unknown numbers.
DType dtype_of(DataType type);

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

  // The product of the dimensions and the element size; a scalar (empty shape) has one element.
  // Throws SizeError on a negative dimension or overflow, and FormatError for an unknown type.
  uint64_t sizeInBytes() const;

  bool operator==(const TensorInfo&) const = default;

 private:
  DataType type_ = DataType::F32;
  std::vector<ShapeDimType> shape_;
};

class TensorDataInfo {
 public:
  TensorDataInfo() = default;
  TensorDataInfo(std::string name, TensorInfo info)
      : name_(std::move(name)), info_(std::move(info)) {}

  const std::string& name() const { return name_; }  // the name of an anchor
  void setName(std::string name) { name_ = std::move(name); }
  const TensorInfo& tensorInfo() const { return info_; }
  TensorInfo& tensorInfo() { return info_; }
  void setTensorInfo(TensorInfo info) { info_ = std::move(info); }

  bool operator==(const TensorDataInfo&) const = default;

 private:
  std::string name_;
  TensorInfo info_;
};

// A sequence of `numTensors` values of one input, all with the same info.
class FeedDataInfo : public TensorDataInfo {
 public:
  FeedDataInfo() = default;
  FeedDataInfo(std::string name, TensorInfo info, uint64_t num_tensors)
      : TensorDataInfo(std::move(name), std::move(info)), num_tensors_(num_tensors) {}

  uint64_t numTensors() const { return num_tensors_; }
  void setNumTensors(uint64_t n) { num_tensors_ = n; }
  uint64_t sizeInBytes() const;  // of all tensors; throws as for one tensor

  bool operator==(const FeedDataInfo&) const = default;

 private:
  uint64_t num_tensors_ = 0;
};

class Option {
 public:
  Option(std::string name, std::string value) : name_(std::move(name)), value_(std::move(value)) {}
  const std::string& name() const { return name_; }
  const std::string& value() const { return value_; }
  bool operator==(const Option&) const = default;

 private:
  std::string name_, value_;
};

// The programs of each flow, in order: `load` runs once before the first main, `main` repeatedly,
// and `save` reads state back.
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
  void setLoad(Indices indices) { load_ = std::move(indices); }
  void setMain(Indices indices) { main_ = std::move(indices); }
  void setSave(Indices indices) { save_ = std::move(indices); }

  bool operator==(const ProgramFlow&) const = default;

 private:
  Indices load_, main_, save_;
};

// A tensor of a model that is visible to the host.
class Anchor {
 public:
  using ProgramsType = uint32_t;
  using Programs = std::vector<ProgramsType>;

  Anchor() = default;
  Anchor(std::string name, std::string handle, TensorInfo info, TensorType type, Programs programs,
         bool is_per_replica = false)
      : name_(std::move(name)),
        handle_(std::move(handle)),
        info_(std::move(info)),
        programs_(std::move(programs)),
        type_(type),
        is_per_replica_(is_per_replica) {}

  const std::string& name() const { return name_; }
  void setName(std::string name) { name_ = std::move(name); }
  // The stream to which a callback is connected; empty if the anchor cannot be connected.
  const std::string& handle() const { return handle_; }
  void setHandle(std::string handle) { handle_ = std::move(handle); }
  // The info of one transfer. If isPerReplica, the first dimension is the replication factor.
  const TensorInfo& tensorInfo() const { return info_; }
  TensorInfo& tensorInfo() { return info_; }
  void setTensorInfo(TensorInfo info) { info_ = std::move(info); }
  bool isPerReplica() const { return is_per_replica_; }
  void setIsPerReplica(bool value) { is_per_replica_ = value; }
  TensorType type() const { return type_; }
  void setType(TensorType type) { type_ = type; }
  // Indices of the programs that use the stream.
  const Programs& programs() const { return programs_; }
  Programs& programs() { return programs_; }
  void setPrograms(Programs programs) { programs_ = std::move(programs); }

  // Whether any of `indices` is among programs().
  bool usedBy(const std::vector<uint32_t>& indices) const;

  bool operator==(const Anchor&) const = default;

 private:
  std::string name_, handle_;
  TensorInfo info_;
  Programs programs_;
  TensorType type_ = TensorType::UNKNOWN;
  bool is_per_replica_ = false;
};

// The facts about one executable that a runtime needs.
class Metadata {
 public:
  using ProgramsMap = std::unordered_map<ProgramFlow::ProgramIndexType, std::string>;

  // tests/lint/popef_fields.py generates these from metadata.toml.
  // <popef:accessors>
  // Name of the executable that the metadata describes.
  const std::string& executable() const { return executable_; }
  void setExecutable(std::string value) { executable_ = std::move(value); }
  // Number of replicas that are compiled in.
  uint32_t replicationFactor() const { return replication_factor_; }
  void setReplicationFactor(uint32_t value) { replication_factor_ = value; }
  // Number of IPUs that all replicas use together.
  uint32_t numIpus() const { return num_ipus_; }
  void setNumIpus(uint32_t value) { num_ipus_ = value; }
  // Version of the IPU that the executable was compiled for: 1, 2 or 21.
  int32_t ipuVersion() const { return ipu_version_; }
  void setIpuVersion(int32_t value) { ipu_version_ = value; }
  // Whether the executable is for a POD.
  bool isPOD() const { return is_pod_; }
  void setIsPOD(bool value) { is_pod_ = value; }
  // Number of host processes that work together.
  uint32_t numProcesses() const { return num_processes_; }
  void setNumProcesses(uint32_t value) { num_processes_ = value; }
  // Whether the executable is for inference.
  bool isInference() const { return is_inference_; }
  void setIsInference(bool value) { is_inference_ = value; }
  // Number of transfers of each stream in one run of the main programs.
  uint64_t deviceIterations() const { return device_iterations_; }
  void setDeviceIterations(uint64_t value) { device_iterations_ = value; }
  // Handle of the stream of the random seed; empty if there is none.
  const std::string& seedHandle() const { return seed_handle_; }
  void setSeedHandle(std::string value) { seed_handle_ = std::move(value); }
  // </popef:accessors>

  const std::vector<Option>& engineOptions() const { return engine_options_; }
  std::vector<Option>& engineOptions() { return engine_options_; }
  void setEngineOptions(std::vector<Option> options) { engine_options_ = std::move(options); }
  const std::vector<Option>& deviceOptions() const { return device_options_; }
  std::vector<Option>& deviceOptions() { return device_options_; }
  void setDeviceOptions(std::vector<Option> options) { device_options_ = std::move(options); }

  const std::vector<Anchor>& anchors() const { return anchors_; }
  std::vector<Anchor>& anchors() { return anchors_; }
  void setAnchors(std::vector<Anchor> anchors) { anchors_ = std::move(anchors); }

  const ProgramFlow& programFlow() const { return program_flow_; }
  ProgramFlow& programFlow() { return program_flow_; }
  void setProgramFlow(ProgramFlow flow) { program_flow_ = std::move(flow); }
  const ProgramsMap& programsMap() const { return programs_map_; }  // readable names by index
  ProgramsMap& programsMap() { return programs_map_; }
  void setProgramsMap(ProgramsMap map) { programs_map_ = std::move(map); }

  bool operator==(const Metadata&) const = default;

 private:
  // <popef:members>
  std::string executable_;
  uint32_t replication_factor_ = 1;
  uint32_t num_ipus_ = 1;
  int32_t ipu_version_ = 2;
  bool is_pod_ = false;
  uint32_t num_processes_ = 1;
  bool is_inference_ = true;
  uint64_t device_iterations_ = 1;
  std::string seed_handle_;
  // </popef:members>
  std::vector<Option> engine_options_, device_options_;
  std::vector<Anchor> anchors_;
  ProgramFlow program_flow_;
  ProgramsMap programs_map_;
};

}  // namespace poprt::popef

// Small values and files that the PopEF tests share.
#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "popef/reader.h"
#include "popef/types.h"
#include "popef/writer.h"

namespace poprt::popef {

// A folder that is removed at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "popef_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  size_t entries() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_),
                                             std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

inline std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string random_bytes(size_t count, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::string s(count, '\0');
  for (char& c : s) c = static_cast<char>(random());
  return s;
}

inline std::string text_of(const Payload& payload) {
  return {reinterpret_cast<const char*>(payload.bytes.data()), payload.bytes.size()};
}

inline std::string text_of(std::istream& stream) {
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline Metadata sample_metadata(const std::string& executable = "model") {
  Metadata m;
  m.setReplicationFactor(2);
  m.setNumIpus(4);
  m.setIpuVersion(21);
  m.setIsPOD(true);
  m.setIsInference(false);
  m.setNumProcesses(3);
  m.setExecutable(executable);
  m.setSeedHandle("h2d_seed");
  m.setEngineOptions({{"b", "2"}, {"a", ""}});
  m.setDeviceOptions({{"gateway", "true"}});
  m.setDeviceIterations(uint64_t{1} << 40);
  m.setAnchors({
      Anchor("x", "h2d_x", TensorInfo(DataType::F32, {2, 3}), TensorType::INPUT, {5}),
      Anchor("w", "h2d_w", TensorInfo(DataType::F16, {4}), TensorType::INPUT, {0}, true),
      Anchor("w", "weight_d2h_w", TensorInfo(DataType::F16, {4}), TensorType::OUTPUT, {7}),
      Anchor("c", "", TensorInfo(DataType::S64, {}), TensorType::UNKNOWN, {}),
      Anchor("y", "anchor_d2h_y", TensorInfo(DataType::U8, {0, 7}), TensorType::OUTPUT, {5, 9}),
  });
  m.programFlow().setLoad({0, 2});
  m.programFlow().setMain({5});
  m.programFlow().setSave({7, 3});
  m.setProgramsMap({{0, "WeightsFromHost"}, {5, "Program"}, {7, "WeightsToHost"}});
  return m;
}

// One blob of every kind.
inline void write_sample(Writer& writer, const std::string& executable = "model",
                         bool compress = false) {
  writer.write(sample_metadata(executable));
  writer.createExecutable(executable, compress)->stream << "executable bytes of " << executable;
  writer.createOpaqueBlob("notes", executable)->stream << "free text";
  writer.createTensorData({"w", TensorInfo(DataType::F16, {4})}, executable)->write("12345678", 8);
  writer.createFeedData({"x", TensorInfo(DataType::F32, {2, 3}), 2}, executable)
      ->write(random_bytes(48).data(), 48);
}

inline std::string sample_file(bool compress = false) {
  std::ostringstream out;
  Writer writer(out);
  write_sample(writer, "model", compress);
  writer.close();
  return out.str();
}

inline void parse(Reader& reader, const std::string& bytes) {
  reader.parseStream(std::make_shared<std::istringstream>(bytes));
}

}  // namespace poprt::popef

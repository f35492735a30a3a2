// Separates the raw data of a model's large tensors from the rest of the model. Protobuf would copy
// the data to unaligned memory; the importer reads it once, directly to its final place.
//
//   graph { initializer { name "w"  raw_data <1 MiB> } node { ... } }
//
// becomes `rest`, graph { initializer { name "w" } node { ... } }, and a cut for initializer 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace onnx {
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace poprt::onnx {

// Smaller data stays in `rest`.
inline constexpr uint64_t kLeastCutBytes = 4096;

struct SplitModel {
  // The raw data of an initializer of the graph, or of a tensor that is an attribute of a node of
  // the graph.
  struct Cut {
    std::optional<int> initializer;
    int node = 0, attribute = 0;
    uint64_t offset = 0, bytes = 0;  // in the model
  };
  std::string rest;
  std::vector<Cut> cuts;  // in ascending order of the offset, at least one

  // The tensor of a cut in the message that was parsed from `rest`. Throws data_loss if the message
  // does not have it.
  static const ::onnx::TensorProto& tensor_of(const Cut& cut, const ::onnx::ModelProto& model);
};

// Returns nullopt if less than half of the model is large raw data, if the model has 2 GiB or more,
// or if serializers do not write such a model: it is damaged, has groups, or repeats a field that
// may occur once. Protobuf then parses the model as a whole and reports errors.
std::optional<SplitModel> split_model(std::span<const std::byte> model);

// Copies bytes at an offset of the model. Called by several threads at the same time.
using ReadModel = std::function<void(uint64_t offset, std::span<std::byte> to)>;

struct CutData {
  std::span<const std::byte> bytes;  // aligned to 64
  std::shared_ptr<const void> owner;
};

// Reads the data of all cuts, on several threads. Adjacent cuts of up to 32 MiB together share a
// block of memory, which is freed with the last of their owners.
std::vector<CutData> read_cuts(std::span<const SplitModel::Cut> cuts, const ReadModel& read);

}  // namespace poprt::onnx

// Single tensors in ONNX's .pb files: the inputs and outputs of ONNX's test data.
#pragma once

#include <filesystem>
#include <string>

#include "base/tensor.h"

namespace poprt::onnx {

struct NamedTensor {
  std::string name;  // may be empty
  Tensor tensor;
};

// Reads a file that holds one TensorProto, external data beside it included. Throws not_found,
// invalid_argument (another kind of file), data_loss (damaged) and unimplemented (a SequenceProto
// or an OptionalProto); the message starts with the path.
NamedTensor read_tensor_file(const std::filesystem::path& path);

// Writes one. Throws as export_file.
void write_tensor_file(const std::filesystem::path& path, const std::string& name,
                       const Tensor& tensor);

}  // namespace poprt::onnx

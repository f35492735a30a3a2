// Single tensors in ONNX's .pb files: the inputs and outputs of ONNX's test data.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace poprt::onnx {

// Reads a file that holds one TensorProto, external data beside it included; its name, which may be
// empty, goes to `name` when that is given. Throws not_found, invalid_argument (another kind of
// file), data_loss (damaged) and unimplemented (a SequenceProto or an OptionalProto); the message
// starts with the path.
Tensor read_tensor_pb(const std::filesystem::path& path, std::string* name = nullptr);

// The tensors of a file that holds a TensorProto (one), a SequenceProto of tensors, or an
// OptionalProto of one of those (none when it is empty). Throws as read_tensor_pb.
std::vector<Tensor> read_tensors_pb(const std::filesystem::path& path);

// Writes one. Throws as export_file.
void write_tensor_pb(const std::filesystem::path& path, const std::string& name,
                     const Tensor& tensor);

}  // namespace poprt::onnx

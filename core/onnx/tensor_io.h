// Single tensors in ONNX's .pb files, as in the inputs and outputs of ONNX's test data.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace poprt::onnx {

// Reads a file that contains one TensorProto, including external data in the same folder. If `name`
// is not null, it receives the name of the tensor, which may be empty. Throws like
// MappedFile::open() and take_tensor(), invalid_argument (another kind of file), data_loss
// (damaged) and unimplemented (a SequenceProto or an OptionalProto); the message contains the path.
Tensor read_tensor_pb(const std::filesystem::path& path, std::string* name = nullptr);

// The tensors of a file that contains a TensorProto (one tensor), a SequenceProto of tensors, or an
// OptionalProto of one of these (no tensor if it is empty). Throws like read_tensor_pb, and
// unimplemented for a sequence of other values.
std::vector<Tensor> read_tensors_pb(const std::filesystem::path& path);

// Writes one tensor. Throws like export_file, and resource_exhausted if the file would have 2 GiB
// or more.
void write_tensor_pb(const std::filesystem::path& path, const std::string& name,
                     const Tensor& tensor);

}  // namespace poprt::onnx

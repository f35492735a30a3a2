// Conversion between TensorProto and Tensor. Uses protobuf: only for files of this folder.
#pragma once

#include <onnx/onnx_pb.h>

#include "base/tensor.h"
#include "onnx/external_data.h"

namespace poprt::onnx {

// Moves the payload out of `proto` if possible, so that the tensor refers to it without a copy:
// raw_data and typed fields of the same width are moved, and external data is mapped. It copies
// strings, and other data only to convert or to align it. Throws data_loss if payload and shape
// disagree, invalid_argument for a malformed message, out_of_range if the size of the shape
// overflows, unimplemented for segments, and the errors of ExternalFiles.
Tensor take_tensor(::onnx::TensorProto& proto, ExternalFiles& files);

// Returns the dense form of a sparse tensor; otherwise like take_tensor. Throws resource_exhausted
// if it has more than kMaxDensifiedBytes, and unimplemented for strings and elements of less than a
// byte.
Tensor take_sparse_tensor(::onnx::SparseTensorProto& proto, ExternalFiles& files);

// Returns a message with the name, the type and the dimensions, and for a string tensor also the
// values. The bytes of other tensors belong in raw_data or in an external file.
::onnx::TensorProto tensor_header(const std::string& name, const Tensor& tensor);

// The complete message, with a copy of the bytes.
::onnx::TensorProto make_tensor_proto(const std::string& name, const Tensor& tensor);

}  // namespace poprt::onnx

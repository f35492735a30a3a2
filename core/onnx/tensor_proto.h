// TensorProto against Tensor. Sees protobuf: for the inside of this folder only.
#pragma once

#include <onnx/onnx_pb.h>

#include "base/tensor.h"
#include "onnx/external_data.h"

namespace poprt::onnx {

// Takes the payload out of `proto` where it can (raw_data and typed fields of the right width are
// moved, external data is mapped), so that the tensor views it without a copy; copies only to
// convert or to align. Throws data_loss when payload and shape disagree, invalid_argument for
// anything malformed, unimplemented for segments and FLOAT8E8M0.
Tensor take_tensor(::onnx::TensorProto& proto, ExternalFiles& files);

// Dense form, as take_tensor. resource_exhausted above kMaxDensifiedBytes.
Tensor take_sparse_tensor(::onnx::SparseTensorProto& proto, ExternalFiles& files);

// Name, type, dims, and the values of a string tensor: everything but the bytes, which belong into
// raw_data or an external file.
::onnx::TensorProto tensor_header(const std::string& name, const Tensor& tensor);

// All of it, bytes included (copies them).
::onnx::TensorProto make_tensor_proto(const std::string& name, const Tensor& tensor);

}  // namespace poprt::onnx

// A model for another opset. Sees protobuf: for the inside of this folder only.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>

namespace poprt::onnx {

// Rewrites the model in place with the ONNX project's own version converter, so that it imports
// opset `target` of the standard domain. Other domains stay. Does nothing when it does already.
// Throws unimplemented, naming both opsets and the reason, for what that converter cannot do: an
// opset that it does not know, an operator without a counterpart, subgraphs, functions, and
// external data.
void convert_version(::onnx::ModelProto& model, int64_t target);

}  // namespace poprt::onnx

// Topological order of a NodeProto list. Sees protobuf: for the inside of this folder only.
#pragma once

#include <onnx/onnx_pb.h>

#include <vector>

namespace poprt::onnx {

// Indices into `nodes`, stable: already sorted lists stay as they are. What subgraphs read from
// outside counts as read by their node. Throws invalid_argument when two nodes make the same value
// or on a cycle, naming the values on it.
std::vector<int> node_order(const google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes);

}  // namespace poprt::onnx

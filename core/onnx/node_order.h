// Topological order of a list of NodeProto. Uses protobuf: only for files of this folder.
#pragma once

#include <onnx/onnx_pb.h>

#include <vector>

namespace poprt::onnx {

// Returns indices into `nodes`. The sort is stable, so a sorted list keeps its order. A node reads
// the outer values that its subgraphs read. Throws invalid_argument if two nodes compute the same
// value, or if there is a cycle; the message has up to six of its values.
std::vector<int> node_order(const google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes);

}  // namespace poprt::onnx

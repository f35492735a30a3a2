// The opset of a domain that a model uses and does not import. Sees protobuf: for the inside of
// this folder only.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <string>

namespace poprt::onnx {

// Nothing for domains of which only their owner knows versions. Of "", the standard domain, the
// newest, as ONNX Runtime has it; of the others the oldest that defines every operator and
// attribute of the domain that the model uses, which is 1 for nearly all.
std::optional<int64_t> assumed_opset(const ::onnx::ModelProto& model, const std::string& domain);

}  // namespace poprt::onnx

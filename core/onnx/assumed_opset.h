// The opset that is assumed for a domain that a model uses but does not import. Uses protobuf: only
// for files of this folder.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <string>

namespace poprt::onnx {

// Returns the newest opset for the standard domain "", as ONNX Runtime does. For ai.onnx.ml,
// ai.onnx.preview, ai.onnx.preview.training, ai.graphcore and com.microsoft, returns the oldest
// opset that defines every operator and attribute of the domain that the model uses, which is
// nearly always 1. Returns nullopt for every other domain.
std::optional<int64_t> assumed_opset(const ::onnx::ModelProto& model, const std::string& domain);

}  // namespace poprt::onnx

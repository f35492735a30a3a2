// Limits of the importer. They are far beyond real models, and stop hostile ones early.
#pragma once

#include <cstdint>

#include "ir/newest.h"

namespace poprt::onnx {

// Nesting of protobuf messages; a subgraph uses three levels.
inline constexpr int kMaxMessageDepth = 200;
// Nesting of subgraphs and function calls together.
inline constexpr int kMaxDepth = 128;
// Nodes of a model, including those of subgraphs and inlined functions.
inline constexpr int64_t kMaxNodes = 2'000'000;
// Limits of inlining model-local functions: number of nodes, and bytes of their messages. Copies of
// the attributes of calls and default attributes count too.
inline constexpr int64_t kMaxInlinedNodes = 200'000;
inline constexpr uint64_t kMaxInlinedBytes = uint64_t{256} << 20;
// In bytes. A longer name is cut when a new name is derived from it, for inlining or for a
// subgraph.
inline constexpr uint64_t kMaxGeneratedName = 256;
// Bytes of a sparse tensor in dense form.
inline constexpr uint64_t kMaxDensifiedBytes = uint64_t{64} << 20;
// Dimensions of a tensor.
inline constexpr int kMaxRank = 64;
// The oldest and the newest supported IR version (onnx/onnx.proto, enum Version).
inline constexpr int64_t kMinIrVersion = 3;
inline constexpr int64_t kMaxIrVersion = 14;
// The newest opset of the standard domain that can be imported.
inline constexpr int64_t kMaxOpset = ir::kNewestOpset;

}  // namespace poprt::onnx

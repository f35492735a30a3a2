// What the importer takes at most. Generous: no real model comes near, a hostile one is stopped
// early.
#pragma once

#include <cstdint>

namespace poprt::onnx {

// Nesting of protobuf messages; a subgraph costs three levels.
inline constexpr int kMaxMessageDepth = 200;
// Nesting of subgraphs and function calls together.
inline constexpr int kMaxDepth = 128;
// Nodes of a model, subgraphs and inlined functions included.
inline constexpr int64_t kMaxNodes = 2'000'000;
// What inlining model-local functions may add: nodes, and bytes of their attributes.
inline constexpr int64_t kMaxInlinedNodes = 200'000;
inline constexpr uint64_t kMaxInlinedBytes = uint64_t{256} << 20;
// A longer name is cut when inlining makes a new one from it.
inline constexpr uint64_t kMaxGeneratedName = 256;
// Bytes of a sparse tensor when made dense.
inline constexpr uint64_t kMaxDensifiedBytes = uint64_t{64} << 20;
// Dimensions of a tensor.
inline constexpr int kMaxRank = 64;
// The oldest and the newest IR version whose meaning is known (onnx/onnx.proto, enum Version).
inline constexpr int64_t kMinIrVersion = 3;
inline constexpr int64_t kMaxIrVersion = 14;
// The newest opset of the standard domain whose meaning is known.
inline constexpr int64_t kMaxOpset = 27;

}  // namespace poprt::onnx

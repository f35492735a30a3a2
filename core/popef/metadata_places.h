// The positions of the fields of metadata.capnp: byte, bit or pointer index.
// tests/lint/capnp_places.py --write generates this file from the schema.
#pragma once

#include <cstdint>

namespace poprt::popef::places {

namespace tensor_info {
inline constexpr uint32_t kDataType = 0;
inline constexpr uint32_t kShape = 0;
}  // namespace tensor_info

namespace anchor {
inline constexpr uint32_t kName = 0;
inline constexpr uint32_t kHandle = 1;
inline constexpr uint32_t kTensorInfo = 2;
inline constexpr uint32_t kType = 0;
inline constexpr uint32_t kIsPerReplica = 32;
inline constexpr uint32_t kPrograms = 3;
}  // namespace anchor

namespace option {
inline constexpr uint32_t kName = 0;
inline constexpr uint32_t kValue = 1;
}  // namespace option

namespace program_name {
inline constexpr uint32_t kIndex = 0;
inline constexpr uint32_t kName = 0;
}  // namespace program_name

namespace metadata {
inline constexpr uint32_t kReplicationFactor = 0;
inline constexpr uint32_t kNumIpus = 4;
inline constexpr uint32_t kIpuVersion = 8;
inline constexpr uint32_t kIsPod = 96;
inline constexpr uint32_t kIsInference = 97;
inline constexpr uint32_t kNumProcesses = 16;
inline constexpr uint32_t kExecutable = 0;
inline constexpr uint32_t kSeedHandle = 1;
inline constexpr uint32_t kEngineOptions = 2;
inline constexpr uint32_t kDeviceOptions = 3;
inline constexpr uint32_t kDeviceIterations = 24;
inline constexpr uint32_t kAnchors = 4;
inline constexpr uint32_t kLoad = 5;
inline constexpr uint32_t kMain = 6;
inline constexpr uint32_t kSave = 7;
inline constexpr uint32_t kProgramsMap = 8;
}  // namespace metadata

}  // namespace poprt::popef::places

// The positions of the fields of program.capnp: byte, bit or pointer index.
// tests/lint/capnp_places.py --write generates this file from the schema.
#pragma once

#include <cstdint>

namespace poprt::program::places {

namespace buffer {
inline constexpr uint32_t kOffset = 0;
inline constexpr uint32_t kBytes = 8;
inline constexpr uint32_t kIndex = 16;
inline constexpr uint32_t kSpace = 20;
inline constexpr uint32_t kDtype = 21;
inline constexpr uint32_t kShape = 0;
}  // namespace buffer

namespace instruction {
inline constexpr uint32_t kKernel = 0;
inline constexpr uint32_t kOperands = 0;
inline constexpr uint32_t kInts = 1;
inline constexpr uint32_t kFloats = 2;
inline constexpr uint32_t kName = 3;
}  // namespace instruction

namespace anchor {
inline constexpr uint32_t kName = 0;
inline constexpr uint32_t kDtype = 0;
inline constexpr uint32_t kShape = 1;
inline constexpr uint32_t kData = 8;
}  // namespace anchor

namespace narrow {
inline constexpr uint32_t kOffset = 0;
inline constexpr uint32_t kBytes = 8;
inline constexpr uint32_t kExponent = 16;
inline constexpr uint32_t kDtype = 20;
inline constexpr uint32_t kTile = 21;
inline constexpr uint32_t kM = 24;
inline constexpr uint32_t kC = 28;
}  // namespace narrow

namespace program {
inline constexpr uint32_t kArenaBytes = 0;
inline constexpr uint32_t kWeightsBytes = 8;
inline constexpr uint32_t kKernels = 0;
inline constexpr uint32_t kBuffers = 1;
inline constexpr uint32_t kLoad = 2;
inline constexpr uint32_t kMain = 3;
inline constexpr uint32_t kSave = 4;
inline constexpr uint32_t kInputs = 5;
inline constexpr uint32_t kOutputs = 6;
inline constexpr uint32_t kNotes = 7;
inline constexpr uint32_t kStateBytes = 16;
inline constexpr uint32_t kNarrow = 8;
}  // namespace program

}  // namespace poprt::program::places

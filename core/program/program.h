// What the device runs: buffers with planned places, and flat lists of instructions.
//
// A Program is plain data. It says nothing about threads or instruction sets: kernels choose those
// when the device prepares it. Weight bytes are not in it; it knows only how many there are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace poprt::program {

enum class Space : uint8_t {
  arena = 0,    // device memory, planned offsets, alive during one run
  weights = 1,  // constant bytes that come with the program, mapped read-only
  input = 2,    // caller memory of one input anchor, read only
  output = 3,   // caller memory of one output anchor
};

// A typed place. Several buffers may name the same bytes (views, in-place results, reuse over
// time). Offsets into arena and weights are multiples of 64 unless the buffer is a view; caller
// memory has whatever alignment the caller gave it.
struct Buffer {
  Space space = Space::arena;
  uint32_t index = 0;   // which input or output anchor; 0 for arena and weights
  uint64_t offset = 0;  // bytes from the start of the space (or anchor)
  uint64_t bytes = 0;   // room, at least what dtype and shape need (padded layouts may have more)
  DType dtype = DType::undefined;
  Shape shape;
};

inline constexpr uint32_t kNoBuffer = 0xffffffffu;

struct Instruction {
  uint32_t kernel = 0;             // index into Program::kernels
  std::vector<uint32_t> operands;  // indices into Program::buffers, or kNoBuffer
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::string name;  // the IR node it came from, for reports and errors
};

inline constexpr uint64_t kNoData = ~uint64_t{0};
// Bytes: of buffers in the arena and the weights, and of the weights in a payload.
inline constexpr uint64_t kAlignment = 64;

struct Anchor {
  std::string name;
  DType dtype = DType::undefined;
  Shape shape;
  // Inputs: the value that the file has for it, as an offset into the weights; a session may give
  // it another one. kNoData: the caller gives it.
  uint64_t data = kNoData;

  uint64_t bytes() const { return dtype_bytes(dtype, element_count(shape)); }
};

struct Program {
  std::vector<std::string> kernels;
  std::vector<Buffer> buffers;
  std::vector<Instruction> load, main, save;  // PopEF's program flow
  std::vector<Anchor> inputs, outputs;
  uint64_t arena_bytes = 0;
  uint64_t state_bytes = 0;  // of the arena's beginning: what lasts from run to run
  uint64_t weights_bytes = 0;
};

// Throws data_loss (naming instruction or buffer and what is wrong) unless every index is in range,
// every buffer lies inside its space and is large enough for dtype and shape, no instruction list
// uses an operand of an unknown space, and sizes do not overflow. It does not know kernels.
void verify(const Program& program);

// Human-readable listing, stable across runs.
std::string to_string(const Program& program);

}  // namespace poprt::program

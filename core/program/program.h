// The program that a device runs: buffers with planned places, and flat lists of instructions.
//
// A Program is plain data. It does not depend on threads or instruction sets; kernels choose those
// when the device prepares the program. It does not contain the bytes of the weights, only their
// number.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace poprt::program {

enum class Space : uint8_t {
  arena = 0,    // device memory, planned offsets; lasts for one run, except for the state
  weights = 1,  // constant bytes that come with the program; instructions only read them
  input = 2,    // caller memory of one input anchor, read only
  output = 3,   // caller memory of one output anchor
};

// A typed place in memory. Several buffers may share bytes (views, in-place results, reuse over
// time). Offsets in the arena and the weights are multiples of 64 unless the buffer is a view;
// memory of the caller may have any alignment.
struct Buffer {
  Space space = Space::arena;
  uint32_t index = 0;   // index of the input or output anchor; 0 for arena and weights
  uint64_t offset = 0;  // bytes from the beginning of the space or anchor
  uint64_t bytes = 0;   // size, at least as large as dtype and shape need; padded layouts have more
  DType dtype = DType::undefined;
  Shape shape;
};

inline constexpr uint32_t kNoBuffer = 0xffffffffu;

struct Instruction {
  uint32_t kernel = 0;             // index into Program::kernels
  std::vector<uint32_t> operands;  // indices into Program::buffers, or kNoBuffer
  std::vector<int64_t> ints;
  std::vector<float> floats;
  // For reports and errors: the name of the IR node that it was made from, or of the node's first
  // output if the node has no name. For the region of a shard or variant: a name for the IPU or
  // variant.
  std::string name;
};

inline constexpr uint64_t kNoData = ~uint64_t{0};
// Alignment in bytes of buffers in the arena and the weights (except views), and the least
// alignment of the weights in a payload that a reader accepts.
inline constexpr uint64_t kAlignment = 64;

struct Anchor {
  std::string name;
  DType dtype = DType::undefined;
  Shape shape;
  // For inputs: the offset in the weights of the input's value, if the file has one. A session may
  // use another value. kNoData: the caller provides the value.
  uint64_t data = kNoData;

  uint64_t bytes() const { return dtype_bytes(dtype, element_count(shape)); }
};

struct Program {
  std::vector<std::string> kernels;
  std::vector<Buffer> buffers;
  std::vector<Instruction> load, main, save;  // the three flows of PopEF
  std::vector<Anchor> inputs, outputs;
  uint64_t arena_bytes = 0;
  uint64_t state_bytes = 0;  // size of the beginning of the arena that lasts from run to run
  uint64_t weights_bytes = 0;
};

// Throws data_loss, with the instruction, buffer or anchor and the error in the message, unless
// every index is in range, every buffer is inside a known space, large enough for its type and
// shape and aligned for its type, the values of inputs are inside the weights, outputs have no
// value, the state is inside the arena, regions match (match_regions()), and no size overflows. It
// does not check the arguments of kernels.
void verify(const Program& program);

// Returns the integers and floats of an instruction as text, for example " n=4 scale=0.5".
using NumbersText = std::function<std::string(
    std::string_view kernel, std::span<const int64_t> ints, std::span<const float> floats)>;

// Human-readable listing of a verified program, stable across runs. `numbers_text` prints the
// numbers of kernels, whose fields this layer does not know: pass kernels::describe_call. Without
// it they are plain lists. The numbers of control instructions have the names of program/control.h.
std::string to_string(const Program& program, const NumbersText& numbers_text = {});

}  // namespace poprt::program

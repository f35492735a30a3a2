// Memory of the tiles by category, and over time.
//
// A tensor occupies an equal share of consecutive tiles, which begin at a tile that depends on its
// name (dithering), so that small tensors are not all on tile 0. Weights, code and buffers of the
// host always exist. Other tensors exist from the operation that writes them to the last one that
// reads them.
//
// The partial sums of products, and weights that are loaded with 128 bits, are in interleaved
// memory, whose addresses are above the others. So a tile with 10 kB of partial sums has a highest
// address of at least plain_bytes + 10 kB, even if it needs few other bytes. Worked example: a tile
// with 96 x 16 partial sums of floats has 212992 + 6144 bytes with gaps.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ipu/program.h"

namespace poprt::ipu {

enum class Category : uint8_t {
  weights,
  code,
  exchange_code,
  vertex_state,
  stack,
  io_buffers,
  activations,
  temporaries
};
inline constexpr size_t kCategories = 8;
std::string_view category_name(Category category);

struct LargestTensor {
  std::string name;
  int64_t bytes = 0;  // on the tile
};

// The memory of one IPU.
struct TileMemory {
  int64_t ipu = 0;
  int64_t tile = 0;             // the busiest one
  int64_t bytes = 0;            // memory that the busiest tile needs, without gaps
  int64_t bytes_with_gaps = 0;  // with gaps of addresses, alignment and interleaved memory
  int64_t available = 0;
  int64_t always = 0;   // the part of `bytes` that exists during the whole run
  int64_t total = 0;    // of all tiles, without gaps
  int64_t io_tile = 0;  // of an I/O tile; 0 without them
  std::array<int64_t, kCategories> by_category = {};  // of the busiest tile
  std::array<int64_t, kCategories> total_by_category = {};
  size_t peak_op = 0;                  // the operation at which the busiest tile needs most
  std::vector<int64_t> by_tile;        // the largest number of bytes that each tile needs
  std::vector<int64_t> liveness;       // of all tiles by operation, without `always`
  std::vector<LargestTensor> largest;  // on the busiest tile at the peak

  // Code of vertices, control and exchanges, which only memory that is not interleaved can hold.
  int64_t code = 0, code_available = 0;

  bool fits() const {
    return bytes_with_gaps <= available && io_tile <= available && code <= code_available;
  }
  // Whether it fits, but needs more than 80 % of the memory.
  bool borderline() const { return fits() && bytes_with_gaps * 5 > available * 4; }
};

std::vector<TileMemory> memory_of(const ChipProgram& program, const Target& target,
                                  const ChipOptions& options);

// The first tile of a tensor: derived from its name, so that tensors begin at different tiles. 0 if
// the tensor occupies all `tiles` tiles.
int64_t first_tile(const ChipTensor& tensor, int64_t tiles);

// The bytes that each tile of an IPU needs during one operation.
std::vector<int64_t> bytes_at(const ChipProgram& program, const Target& target,
                              const ChipOptions& options, int64_t ipu, size_t op);
// The tensors on a tile of an IPU during an operation, the largest first.
std::vector<LargestTensor> tensors_at(const ChipProgram& program, const Target& target,
                                      const ChipOptions& options, int64_t ipu, size_t op,
                                      int64_t tile);

// The messages of an IPU whose memory is not sufficient; empty if it is.
std::vector<std::string> out_of_memory(const TileMemory& memory, const ChipProgram& program);

}  // namespace poprt::ipu

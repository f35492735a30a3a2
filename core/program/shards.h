// A program for several IPUs: each region of the main flow belongs to an IPU, and transfers connect
// the regions.
//
//   control.transfer [hidden]         a place that one shard writes and others read
//   control.shard ipu, stage, ...     shard 0
//     ...
//   control.end
//   control.shard ipu, stage, ...     shard 1
//     ...
//   control.end
//
// The arena has the places of the transfers first and then the memory of each shard, which other
// shards do not access. Shards exchange data through transfers only. They are in the order in which
// one run executes them. In a pipeline, shard i is stage i, and the shards work on different runs
// at the same time; each run then needs separate memory for the transfers. The device itself
// executes these instructions, like other control instructions; a library without them refuses the
// program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "program/control.h"
#include "program/program.h"

namespace poprt::program {

inline constexpr size_t kMostShards = 1024;

// The opaque blob that describes the distribution for users and tools. Its keys are ipus,
// pipelined, shards (ipu, stage if pipelined, instructions, weights_bytes, arena_bytes) and
// transfers (name, dtype, shape, bytes, from, to).
inline constexpr const char* kShards = "poprt.shards";

struct Shard {
  int64_t ipu = 0;
  int64_t stage = -1;  // -1 if the program is not pipelined
  uint64_t arena_begin = 0, arena_bytes = 0;
  uint64_t state_bytes = 0;   // size of the beginning of its memory that lasts from run to run
  size_t begin = 0, end = 0;  // its instructions in main
};

struct Transfer {
  std::string name;
  DType dtype = DType::undefined;
  Shape shape;
  uint64_t offset = 0, bytes = 0;  // in the arena
  uint32_t from = 0;               // the shard that writes it
  std::vector<uint32_t> to;        // the other shards whose instructions have it as an operand
};

struct Shards {
  std::vector<Shard> shards;
  std::vector<Transfer> transfers;
  bool pipelined = false;
  int64_t ipus = 1;            // 1 + the largest number of an IPU
  uint64_t transfers_end = 0;  // end of the places of transfers; shards are at or after it
};

// Whether the program has the regions of shards; false for a program for one IPU.
bool has_shards(const Program& program);
// The program must be valid (verify()). Both functions throw data_loss if regions, numbers or
// places are inconsistent, if a shard accesses memory of another, if there are load or save
// programs, or if there are more than kMostShards shards or they would need too much memory as
// separate programs. shards_of() returns no shards for a program for one IPU.
Shards shards_of(const Program& program);
int64_t ipus_of(const Program& program);

// The contents of the blob kShards.
std::string note_of_shards(const Program& program);

// The bytes of all weights that the instructions of a shard read. Buffers at equal offsets count
// once; overlapping buffers at other offsets count separately.
uint64_t weight_bytes_read_by(const Program& program, const Shard& shard);

// The instructions and memory of one shard as a separate program. Its anchors are those of the
// whole program followed by the transfers, both as inputs and as outputs, so that all shards can be
// called with the same arrays of pointers.
Program program_of(const Program& program, const Shards& shards, size_t shard);

// The integers of control.shard and control.transfer.
std::vector<int64_t> encode(const Shard& shard);
std::vector<int64_t> encode(const Transfer& transfer);

}  // namespace poprt::program

// A program for several IPUs: regions of the main flow, each on an IPU, and what crosses between.
//
//   control.transfer [hidden]         a place for what one shard makes and others read
//   control.shard ipu, stage, ...     shard 0
//     ...
//   control.end
//   control.shard ipu, stage, ...     shard 1
//     ...
//   control.end
//
// The arena is divided: first the places of transfers, then the memory of each shard, of which no
// other knows. Transfers are the only way from one to another. Shards are in the order in which one
// run takes them. With stages, shard i is stage i, and shards work on different runs at the same
// time; each run then needs transfers of its own. As other control instructions, these are run by
// the device; a library that does not know them refuses the program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "program/control.h"
#include "program/program.h"

namespace poprt::program {

inline constexpr size_t kMostShards = 1024;

// Opaque blob that tells people and tools what is on which IPU: ipus, pipelined, shards (ipu,
// stage, instructions, weights_bytes, arena_bytes) and transfers (name, dtype, shape, bytes, from,
// to).
inline constexpr const char* kShards = "poprt.shards";

struct Shard {
  int64_t ipu = 0;
  int64_t stage = -1;  // -1: not pipelined
  uint64_t arena_begin = 0, arena_bytes = 0;
  uint64_t state_bytes = 0;   // of its memory's beginning: what lasts from run to run
  size_t begin = 0, end = 0;  // its instructions in main
};

struct Transfer {
  std::string name;
  DType dtype = DType::undefined;
  Shape shape;
  uint64_t offset = 0, bytes = 0;  // in the arena
  uint32_t from = 0;               // shard
  std::vector<uint32_t> to;        // shards that read it, by the operands of their instructions
};

struct Shards {
  std::vector<Shard> shards;
  std::vector<Transfer> transfers;
  bool pipelined = false;
  int64_t ipus = 1;             // 1 + the largest number
  uint64_t transfer_bytes = 0;  // where shards' memory begins
};

// False for a program of one IPU.
bool has_shards(const Program& program);
// Throws data_loss where regions, numbers or places make no sense, or a shard reaches what is not
// its own. A program of one IPU has no shards.
Shards shards_of(const Program& program);
int64_t ipus_of(const Program& program);

// The text of kShards.
std::string note_of_shards(const Program& program);

// Of the weights that a shard's instructions read, each once.
uint64_t weights_bytes(const Program& program, const Shard& shard);

// What one IPU runs: the shard's instructions and memory. Transfers are anchors behind the
// program's own, inputs and outputs alike, so that all shards take the same arrays of pointers.
Program program_of(const Program& program, const Shards& shards, size_t shard);

// The integers of control.shard and control.transfer.
std::vector<int64_t> encode(const Shard& shard);
std::vector<int64_t> encode(const Transfer& transfer);

}  // namespace poprt::program

// Control flow in instruction lists: regions that run conditionally or repeatedly.
//
// An instruction whose kernel has one of the reserved names below is run by the device itself:
//
//   control.if    operands [condition bool]: the instructions up to the matching control.end run
//                 when the condition is as ControlIf says
//   control.loop  operands [count s64 or none, condition bool or none, index s64]: the region runs
//                 for index = 0, 1 ... while index < most (of ControlLoop), index < count (read
//                 once, before the first round) and the condition holds (read before every round).
//                 The device writes index before every round; after the loop it holds the number of
//                 rounds. It keeps its own counter: what the region does to index changes nothing.
//   control.case  operands [index u32]: the region runs when index is the number of ControlCase.
//                 Regions in a row are the variants of one executable: index says which of them
//                 runs
//   control.shard, control.transfer  parts of a program for several IPUs (program/shards.h): one
//   IPU
//                 that is given all of them runs them one after the other
//   control.end   no operands, ends the innermost region
//
// Regions nest. Scalars are buffers of exactly one element. A library that does not know these
// names refuses the program as one that needs a newer version. As kernels are, they are called by
// name: a struct is encoded where an operator emits it and decoded where a device reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace poprt::program {

enum class Control : uint8_t { branch, loop, end, choice, shard, transfer };

inline constexpr std::string_view kControlIf = "control.if";
inline constexpr std::string_view kControlLoop = "control.loop";
inline constexpr std::string_view kControlEnd = "control.end";
inline constexpr std::string_view kControlCase = "control.case";
inline constexpr std::string_view kControlShard = "control.shard";
inline constexpr std::string_view kControlTransfer = "control.transfer";

// What control instructions say besides their operands.
struct ControlIf {
  static constexpr std::string_view kKernel = kControlIf;
  bool when = true;  // the region runs when the condition is this
};
struct ControlLoop {
  static constexpr std::string_view kKernel = kControlLoop;
  int64_t most = 0;  // rounds: 0 to kMaxRounds
};
struct ControlCase {
  static constexpr std::string_view kKernel = kControlCase;
  int64_t number = 0;  // 0 to 2^32 - 1
};
struct ControlShard {
  static constexpr std::string_view kKernel = kControlShard;
  int64_t ipu = 0;
  int64_t stage = -1;
  int64_t arena_begin = 0, arena_bytes = 0, state_bytes = 0;
};
struct ControlTransfer {
  static constexpr std::string_view kKernel = kControlTransfer;
  int64_t from = 0;  // shard
};
struct ControlEnd {
  static constexpr std::string_view kKernel = kControlEnd;
};

// The integers of an instruction; control instructions have no floats.
struct ControlNumbers {
  std::vector<int64_t> ints;
  std::vector<float> floats;
};
ControlNumbers encode(ControlIf call);
ControlNumbers encode(ControlLoop call);
ControlNumbers encode(ControlCase call);
ControlNumbers encode(ControlShard call);
ControlNumbers encode(ControlTransfer call);
ControlNumbers encode(ControlEnd call);
// Of an instruction that match_regions() accepted.
ControlIf decode_if(const Instruction& instruction);
ControlLoop decode_loop(const Instruction& instruction);
ControlCase decode_case(const Instruction& instruction);
ControlShard decode_shard(const Instruction& instruction);
ControlTransfer decode_transfer(const Instruction& instruction);

inline constexpr size_t kMaxControlDepth = 64;
// Rounds of one loop, and of all loops in one run: when they are used up, no loop begins another.
inline constexpr int64_t kMaxRounds = int64_t{1} << 24;
inline constexpr int64_t kMaxRoundsOfRun = int64_t{1} << 48;

// What an instruction of that kernel name is; nullopt for a kernel's name.
std::optional<Control> control_of(std::string_view kernel);

// For each instruction: the position of the other end of its region (control instructions), or its
// own. Throws data_loss when regions do not match, nest too deep, or a control instruction has
// wrong operands or integers.
std::vector<uint32_t> match_regions(const Program& program, const std::vector<Instruction>& list,
                                    std::string_view flow);

}  // namespace poprt::program

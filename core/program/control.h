// Control flow in instruction lists: regions that run conditionally or repeatedly.
//
// The device itself executes an instruction whose kernel has one of these reserved names:
//
//   control.if    operands [condition bool]: the instructions up to the matching control.end run
//                 if the condition is equal to ControlIf::when
//   control.loop  operands [count s64 or none, condition bool or none, index s64]: the region runs
//                 for index = 0, 1 ... while index < most (of ControlLoop), index < count (read
//                 once, before the first round) and the condition is true (read before each round).
//                 If ControlLoop::limit is set, or there is a count, and only `most` ends the loop,
//                 the run fails.
//                 The device writes index before each round; after the loop index is the number of
//                 rounds. The device has a separate counter, so a region that writes index has no
//                 effect on the number of rounds.
//   control.case  operands [index u32]: the region runs if index is the number of ControlCase.
//                 Adjacent regions are the variants of one executable; index selects the one
//                 that runs.
//   control.shard, control.transfer
//                 parts of a program for several IPUs (program/shards.h). A device with one IPU
//                 runs the shards one after the other.
//   control.end   no operands, ends the innermost region
//
// Regions nest. Scalars are buffers of exactly one element. A library without these names refuses
// the program as one that needs a newer version. The integers of these instructions are encoded
// from the structs below when the compiler emits the instruction, and decoded when a device
// prepares it, as for kernels.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace poprt::program {

enum class Control : uint8_t { if_region, loop, end, case_region, shard, transfer };

inline constexpr std::string_view kControlIf = "control.if";
inline constexpr std::string_view kControlLoop = "control.loop";
inline constexpr std::string_view kControlEnd = "control.end";
inline constexpr std::string_view kControlCase = "control.case";
inline constexpr std::string_view kControlShard = "control.shard";
inline constexpr std::string_view kControlTransfer = "control.transfer";

// The integers of control instructions.
struct ControlIf {
  static constexpr std::string_view kKernel = kControlIf;
  bool when = true;  // the region runs if the condition is equal to this
};
struct ControlLoop {
  static constexpr std::string_view kKernel = kControlLoop;
  int64_t most = 0;    // the number of rounds without count and condition, otherwise its bound
  bool limit = false;  // `most` is no trip count: a loop that would continue after it is a failure
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
  int64_t from = 0;  // the shard that writes the place
};
struct ControlEnd {
  static constexpr std::string_view kKernel = kControlEnd;
};

// The integers of a control instruction. `floats` is always empty; it exists because
// LowerContext::emit() treats control instructions and calls of kernels in the same way.
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
// Decode the integers of an instruction that match_regions() has accepted.
ControlIf decode_if(const Instruction& instruction);
ControlLoop decode_loop(const Instruction& instruction);
ControlCase decode_case(const Instruction& instruction);
ControlShard decode_shard(const Instruction& instruction);
ControlTransfer decode_transfer(const Instruction& instruction);

inline constexpr size_t kMaxControlDepth = 64;
// ControlLoop::most of a loop that only its count or its condition ends.
inline constexpr int64_t kEveryRound = std::numeric_limits<int64_t>::max();
// ControlLoop::most of such a loop in older programs, which had this limit.
inline constexpr int64_t kOldMostRounds = int64_t{1} << 24;

// Returns " NAME=VALUE ..." for the integers of a control instruction, or nullopt if `kernel` is
// not a name of control flow or has another number of integers.
std::optional<std::string> describe_control(std::string_view kernel, std::span<const int64_t> ints);

// The control instruction with this kernel name; nullopt for the name of a kernel.
std::optional<Control> control_of(std::string_view kernel);

// Returns a position for each instruction: the other end of its region, or its own position if it
// neither begins nor ends a region. The shapes of the buffers must be valid. Throws data_loss if
// regions do not match or nest deeper than kMaxControlDepth, or if a control instruction has wrong
// operands or integers.
std::vector<uint32_t> match_regions(const Program& program, const std::vector<Instruction>& list,
                                    std::string_view flow);

}  // namespace poprt::program

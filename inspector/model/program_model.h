// The displayed form of a program: instructions with inputs and outputs, and memory over time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/narrow_weights.h"
#include "program/program.h"

namespace poprt::inspector {

struct OperandRow {
  uint32_t buffer = 0;
  std::string space;  // "arena", "weights", "input NAME", "output NAME"
  std::string type;   // "f32 1×64×56×56"
  uint64_t offset = 0, bytes = 0;
  std::string stored;  // "f16" for weights that the file stores in a narrower type; else empty
};

struct InstructionRow {
  size_t index = 0;
  std::string flow;  // "load", "main", "save"
  std::string kernel, name;
  std::vector<OperandRow> operands;
  uint64_t weight_bytes = 0;
  int depth = 0;  // number of enclosing control regions
};

// A range of arena bytes and the positions of main during which it is in use.
struct ArenaInterval {
  uint64_t offset = 0, bytes = 0;
  int first = 0, last = 0;
  std::vector<uint32_t> buffers;  // buffers in these bytes during that time
  std::string name;               // name of the first instruction that writes it
  std::string kernel;             // its kernel
};

// A part of main: a variant (program/link.h), of which a run executes one, or the instructions of
// one IPU (program/shards.h), of which a run executes all.
struct ProgramPart {
  std::string name;  // "graph0 bert", "batch 1, sequence 64", "IPU 1, stage 1"
  int64_t ipu = -1;  // -1 for a variant
  // The range of instructions of main, including the control instructions that enclose the part.
  size_t first = 0, last = 0;
  // Variants may share these bytes. Each IPU has its own.
  uint64_t arena_begin = 0, arena_bytes = 0;
  uint64_t weights_bytes = 0;  // of weights that its instructions read, each counted once
  uint64_t most_bytes = 0;     // most bytes of the arena that are in use at one time

  bool is_variant() const { return ipu < 0; }
};

class ProgramModel {
 public:
  // `variants` has the names of variants; missing ones are taken from the program. `narrow`, sorted
  // by offset, has the weights that the file stores in a narrower type.
  explicit ProgramModel(const program::Program& program, std::span<const std::string> variants = {},
                        std::span<const program::NarrowWeights> narrow = {});

  const std::vector<InstructionRow>& instructions() const { return instructions_; }
  const std::vector<ArenaInterval>& intervals() const { return intervals_; }
  // Empty if main has no variants and is not cut for IPUs.
  const std::vector<ProgramPart>& parts() const { return parts_; }
  // The part of an instruction of main, or -1.
  int part_of(size_t instruction) const;
  // Bytes of the arena in use at each instruction of main.
  const std::vector<uint64_t>& live_bytes() const { return live_bytes_; }
  // The same in the memory of the IPU that runs the instruction, without transferred data. Equal to
  // live_bytes() for instructions that belong to no part of an IPU.
  const std::vector<uint64_t>& own_bytes() const { return own_bytes_; }
  uint64_t arena_bytes() const { return arena_bytes_; }
  uint64_t weights_bytes() const { return weights_bytes_; }
  // Bytes in the file. Fewer than weights_bytes() if weights are stored in a narrower type than
  // they are computed with.
  uint64_t stored_weights_bytes() const { return stored_weights_bytes_; }
  // The instruction of main (or of a part) with the most bytes in use; 0 if there is none.
  size_t peak(int part = -1) const;
  // Intervals of the arena that are alive at that instruction, largest first.
  std::vector<size_t> alive_at(int position) const;
  // Other intervals that share bytes with this one.
  std::vector<size_t> sharing_with(size_t interval) const;
  // Rows (of a part, if given) whose kernel or name contains `filter`.
  std::vector<size_t> rows(std::string_view filter, int part = -1) const;
  // Kernels of the intervals (of a part, if given) by bytes times instructions, largest first.
  std::vector<std::string> arena_kernels(int part = -1) const;
  // Kernels (of a part, if given) by number of instructions, most frequent first.
  std::vector<std::pair<std::string, size_t>> kernel_counts(int part = -1) const;

 private:
  void add_flow(const program::Program& program, const std::vector<program::Instruction>& list,
                const char* flow);
  void mark_narrow(std::span<const program::NarrowWeights> narrow);
  void find_intervals(const program::Program& program);
  void count_live(size_t instructions);
  void find_parts(const program::Program& program, std::span<const std::string> variants);
  void measure_part(const program::Program& program, ProgramPart& part) const;

  std::vector<InstructionRow> instructions_;
  std::vector<ProgramPart> parts_;
  std::vector<ArenaInterval> intervals_;
  std::vector<uint64_t> live_bytes_, own_bytes_;
  uint64_t arena_bytes_ = 0, weights_bytes_ = 0, stored_weights_bytes_ = 0;
};

}  // namespace poprt::inspector

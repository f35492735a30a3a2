// A program as it is shown: instructions with what they read and write, and memory over time.
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
  std::string stored;  // "f16": weights that the file has in fewer bytes; else empty
};

struct InstructionRow {
  size_t index = 0;
  std::string flow;  // "load", "main", "save"
  std::string kernel, name;
  std::vector<OperandRow> operands;
  uint64_t weight_bytes = 0;
  int depth = 0;  // of control regions around it
};

// A run of arena bytes while somebody uses it, in positions of the main program.
struct ArenaInterval {
  uint64_t offset = 0, bytes = 0;
  int first = 0, last = 0;
  std::vector<uint32_t> buffers;  // those that name bytes of it during that time
  std::string name;               // the instruction that uses it first
};

// What of main runs by itself: one variant of several (program/link.h), of which a run takes one,
// or what one IPU does (program/shards.h), of which a run takes all.
struct ProgramPart {
  std::string name;            // "graph0 bert", "batch 1, sequence 64", "IPU 1, stage 1"
  int64_t ipu = -1;            // of a variant -1
  size_t first = 0, last = 0;  // instructions of main; both ends are its control instructions
  // Of variants that bytes may be shared, of IPUs their own.
  uint64_t arena_begin = 0, arena_bytes = 0;
  uint64_t weights_bytes = 0;  // that its instructions read, each once
  uint64_t most_bytes = 0;     // of the arena, in use at one time while it runs

  bool is_variant() const { return ipu < 0; }
};

class ProgramModel {
 public:
  // `variants`: names of the first variants; further ones have the names in the program.
  // `narrow`, in the order of offsets, is what of its weights the file has in fewer bytes.
  explicit ProgramModel(const program::Program& program, std::span<const std::string> variants = {},
                        std::span<const program::NarrowWeights> narrow = {});

  const std::vector<InstructionRow>& instructions() const { return instructions_; }
  const std::vector<ArenaInterval>& intervals() const { return intervals_; }
  // Empty: a run is the whole of main.
  const std::vector<ProgramPart>& parts() const { return parts_; }
  // Of an instruction of main; -1: of none.
  int part_of(size_t instruction) const;
  // Bytes of the arena in use at each instruction of main.
  const std::vector<uint64_t>& live_bytes() const { return live_bytes_; }
  // The same of an IPU's own memory, without what crosses; elsewhere equal.
  const std::vector<uint64_t>& own_bytes() const { return own_bytes_; }
  uint64_t arena_bytes() const { return arena_bytes_; }
  uint64_t weights_bytes() const { return weights_bytes_; }
  // Of the file: less where weights are stored in a narrower type than they are computed with.
  uint64_t stored_weights_bytes() const { return stored_weights_bytes_; }
  // The instruction of main with the most bytes in use; 0 when there is none. Of a part when one is
  // given.
  size_t peak(int part = -1) const;
  // Intervals of the arena that are alive at that instruction, the largest first.
  std::vector<size_t> alive_at(int position) const;
  // Intervals at other times that share bytes with this one.
  std::vector<size_t> sharing_with(size_t interval) const;
  // Rows whose kernel or name holds `filter`; of a part when one is given.
  std::vector<size_t> rows(std::string_view filter, int part = -1) const;
  // Kernels by the number of instructions, most first; of a part when one is given.
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

// A program as it is shown: instructions with what they read and write, and memory over time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace poprt::inspector {

struct OperandRow {
  uint32_t buffer = 0;
  std::string space;  // "arena", "weights", "input NAME", "output NAME"
  std::string type;   // "f32 1×64×56×56"
  uint64_t offset = 0, bytes = 0;
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

class ProgramModel {
 public:
  explicit ProgramModel(const program::Program& program);

  const std::vector<InstructionRow>& instructions() const { return instructions_; }
  const std::vector<ArenaInterval>& intervals() const { return intervals_; }
  // Bytes of the arena in use at each instruction of main.
  const std::vector<uint64_t>& live_bytes() const { return live_bytes_; }
  uint64_t arena_bytes() const { return arena_bytes_; }
  uint64_t weights_bytes() const { return weights_bytes_; }
  // The instruction of main with the most bytes in use; 0 when there is none.
  size_t peak() const;
  // Intervals of the arena that are alive at that instruction, the largest first.
  std::vector<size_t> alive_at(int position) const;
  // Intervals at other times that share bytes with this one.
  std::vector<size_t> sharing_with(size_t interval) const;
  // Rows whose kernel or name holds `filter`.
  std::vector<size_t> rows(std::string_view filter) const;
  // Kernels by the number of instructions, most first.
  std::vector<std::pair<std::string, size_t>> kernel_counts() const;

 private:
  void add_flow(const program::Program& program, const std::vector<program::Instruction>& list,
                const char* flow);
  void find_intervals(const program::Program& program);

  std::vector<InstructionRow> instructions_;
  std::vector<ArenaInterval> intervals_;
  std::vector<uint64_t> live_bytes_;
  uint64_t arena_bytes_ = 0, weights_bytes_ = 0;
};

}  // namespace poprt::inspector

// The prepared instructions of a program, as the loop of a run reads them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/emulator/control.h"
#include "kernels/kernel.h"

namespace poprt::device {

// An instruction in prepared form: only the fields that the loop of run() reads.
struct PreparedCall {
  kernels::RunFn run;  // null for control flow; params is then a Region
  const void* params;
  void* const* data;  // its operands in Section::slots
  int64_t tasks, rounds;
  bool parallel;
  int64_t piece = 0;  // tasks between two checks; 0 if the instruction is too short to be divided
};

// A slot that points to memory of the caller.
struct Patch {
  uint32_t slot;
  uint64_t offset;
};

struct AnchorPatches {
  uint32_t anchor;
  uint32_t begin, end;  // range of Section::patches
};

// The prepared instructions of one flow: load, main or save.
struct Section {
  std::vector<PreparedCall> steps;
  std::vector<std::unique_ptr<Region>> regions;
  std::vector<void*> slots;
  std::vector<Patch> patches;
  std::vector<AnchorPatches> inputs, outputs;
  bool parallel = false;  // whether instructions outside of cases are worth other threads
};

}  // namespace poprt::device

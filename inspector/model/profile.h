// Runs a program here, on made-up inputs, and says how long each instruction takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/graph_model.h"
#include "model/task.h"
#include "program/serialize.h"

namespace poprt::inspector {

struct ProgramProfile {
  int64_t runs = 0;                  // of each variant, of a program that has several
  double run_ns = 0;                 // mean of a whole run; one of each variant together
  std::vector<double> variant_ns;    // mean of a run of each variant; empty: there are none
  std::vector<double> instructions;  // mean ns of each instruction of main
  std::vector<std::string> names;    // the nodes that they came from
};

// As many runs as fit into `seconds`, one at least; of variants in turn. Floats are random in [0,
// 1), integers 0. Throws what the device refuses, and Error(cancelled).
ProgramProfile profile_program(const program::LoadedProgram& program, double seconds,
                               Progress& progress);

// The node that an instruction of this name came from: by its own name or its first result's;
// kNone: none.
int node_of_instruction(const GraphModel& graph, const std::string& name);

// Nanoseconds of each node of a graph; 0 where no instruction has its name. Of the instructions
// [first, last] of main: nodes of several variants may have the same name.
std::vector<double> node_times(const GraphModel& graph, const ProgramProfile& profile,
                               size_t first = 0, size_t last = SIZE_MAX);

}  // namespace poprt::inspector

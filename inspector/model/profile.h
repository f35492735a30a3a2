// Runs a program on artificial inputs and measures each instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/graph_model.h"
#include "model/run_input.h"
#include "model/task.h"
#include "program/serialize.h"

namespace poprt::inspector {

struct ProgramProfile {
  int64_t runs = 0;                  // per variant if the program has several
  double run_ns = 0;                 // mean time of a run; the sum over all variants
  std::vector<double> variant_ns;    // mean time of a run of each variant; empty if there are none
  std::vector<double> instructions;  // mean ns of each instruction of main
  std::vector<std::string> names;    // name of the node that each instruction implements
  // If the program was measured several times: how far the median is above the fastest time, of
  // the run and of each instruction. Differences below it are noise.
  double run_noise_ns = 0;
  std::vector<double> noise;
};

// Runs the program as often as fits into `seconds`, at least once, alternating between variants.
// Inputs without a choice and without data in the file are random in [0, 1) if they are f32, else
// 0. A choice of an input that the program does not have is ignored. Throws the errors of the
// device, of a run and of reading the inputs, and Error(cancelled).
ProgramProfile profile_program(const program::LoadedProgram& program, double seconds,
                               Progress& progress, const InputChoices& choices = {});

// Nanoseconds of each node of a graph (GraphModel::node_of_instruction); 0 if no instruction
// implements it. A node of a body has the sum of all rounds, and the If or Loop that of its body.
// Only instructions [first, last] of main count, because nodes of several variants may have the
// same name.
std::vector<double> node_times(const GraphModel& graph, const ProgramProfile& profile,
                               size_t first = 0, size_t last = SIZE_MAX);

}  // namespace poprt::inspector

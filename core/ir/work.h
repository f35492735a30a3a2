// Counts the work that compilation does on graphs, so that a test can prove that it grows with the
// size of a model, and not with its square.
#pragma once

#include <cstdint>

namespace poprt::ir {

// The number of steps that this thread has taken so far: nodes and values that it visited, uses
// that it searched or moved, and constants that it compared.
inline thread_local uint64_t work_done = 0;

inline void count_work(uint64_t steps) { work_done += steps; }

}  // namespace poprt::ir

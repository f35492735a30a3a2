// Decides which instructions of a program are divided among threads.
#pragma once

#include <cstddef>

#include "device/emulator/section.h"

namespace poprt::device {

// Whether an instruction has enough work for several threads.
bool is_worth_threads(const kernels::Plan& plan);

// Decides whether waking other threads is worthwhile: for each case of an executable with several
// variants, of which a run takes one, and for the instructions outside of cases. Steps for which it
// is not worthwhile run on one thread.
class ParallelWork {
 public:
  explicit ParallelWork(Section& section) : section_(section) {}
  // Adds the work, in nanoseconds, of an instruction that is worth several threads.
  void add(double work) { (case_ ? inside_ : outside_) += work; }
  // Handles the last step, a control instruction. Nested cases belong to the outermost case.
  void control(Region& region);
  // Returns true if any run of the section needs other threads.
  bool finish();

 private:
  void alone(size_t first);

  Section& section_;
  Region* case_ = nullptr;
  size_t first_ = 0;
  double inside_ = 0, outside_ = 0;
  bool others_ = false;
};

}  // namespace poprt::device

#include "device/emulator/parallel_work.h"

namespace poprt::device {
namespace {

// Passing an instruction to other threads costs up to a microsecond, and waking them about 30. An
// instruction or a flow with less work than these limits is faster on one thread.
constexpr double kParallelInstruction = 20e3;  // nanoseconds, for each round
constexpr double kParallelFlow = 50e3;         // nanoseconds
}  // namespace

bool is_worth_threads(const kernels::Plan& plan) {
  return plan.tasks > 1 && plan.work > kParallelInstruction * static_cast<double>(plan.rounds);
}

void ParallelWork::control(Region& region) {
  if (region.kind == program::Control::case_region && !case_) {
    case_ = &region;
    first_ = section_.steps.size();
    inside_ = 0;
  } else if (region.kind == program::Control::end && region.begin == case_) {
    case_->parallel = inside_ > kParallelFlow;
    if (!case_->parallel) alone(first_);
    others_ = others_ || case_->parallel;
    case_ = nullptr;
  }
}

bool ParallelWork::finish() {
  section_.parallel = outside_ > kParallelFlow;
  if (!section_.parallel && !others_) alone(0);
  return section_.parallel || others_;
}

void ParallelWork::alone(size_t first) {
  for (size_t i = first; i < section_.steps.size(); i++) section_.steps[i].parallel = false;
}

}  // namespace poprt::device

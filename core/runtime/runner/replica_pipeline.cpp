// Runs the steps of a pipelined model: each thread runs one stage, on a separate IPU.
#include <pthread.h>

#include "base/error.h"
#include "runtime/runner/replica.h"

namespace poprt::runtime {

void Replica::make_pipeline() {
  if (!pipelined()) return;
  for (size_t s = 0; s < stages_; s++) pipeline_.emplace_back(steps_.size() + 1);
  // One frame for each stage, and one that the first stage may fill in the meantime.
  for (size_t f = 0; f <= stages_; f++) frames_.emplace_back(sessions_[0]->frame_bytes());
}

void Replica::stage_loop(size_t stage) noexcept {
  pthread_setname_np(pthread_self(), "poprt-ipu");
  take_thread();
  RingBuffer<Step*>& from = stage == 0 ? loaded_ : pipeline_[stage].handed;
  const bool last = stage + 1 == pipeline_.size();
  for (Step* step = nullptr;;) {
    handed_.wait([&] { return from.try_pop(step); });
    if (step && stage == 0) admit(*step);
    // Read before the step is passed on: a step without chunks, all of whose requests fail before
    // they begin, may be reused immediately.
    const uint64_t first = step ? step->first_chunk : 0, chunks = step ? step->chunks : 0;
    if (!last) {
      pipeline_[stage + 1].handed.try_push(step);
      handed_.notify();
    }
    if (step) run_stage(stage, *step, first, chunks);
    if (last) {
      if (step) finish(*step);
      computed_.try_push(step);
      handed_.notify();
    }
    if (!step) return;
  }
}

// Called by the first stage. A failed device is reset when no step is left on it.
void Replica::admit(Step& step) noexcept {
  const RunnerPlan& p = *plan_;
  const std::lock_guard lock(device_mutex_);
  step.compute_begin = stamp();
  step.chunks = (step.rows + p.chunk_rows - 1) / p.chunk_rows;
  step.first_chunk = pipeline_[0].finished.load(std::memory_order_relaxed);
  if (needs_reset_) wait_for_stages();
  step.failure = failure_before_start(step);
  step.failed.store(step.failure != nullptr, std::memory_order_relaxed);
  under_way_.fetch_add(1, std::memory_order_relaxed);
}

void Replica::wait_for_stages() noexcept {
  handed_.wait([this] { return under_way_.load(std::memory_order_acquire) == 0; });
}

void Replica::drain() {
  check_not_abandoned();
  if (under_way_.load(std::memory_order_acquire) != 0 && process_ != this_process())
    fail(ErrorCode::failed_precondition,
         "process {} was forked while threads of its parent ran this runner: make a new runner",
         this_process());
  wait_for_stages();
}

void Replica::run_stage(size_t stage, Step& step, uint64_t first, uint64_t chunks) noexcept {
  const RunnerPlan& p = *plan_;
  const std::atomic<uint64_t>& before = pipeline_[stage == 0 ? stages_ - 1 : stage - 1].finished;
  // The first stage is ahead of the last one by at most as many chunks as there are frames.
  const uint64_t ahead = stage == 0 ? frames_.size() : 0;
  for (uint64_t c = 0; c < chunks; c++) {
    const uint64_t n = first + c;
    handed_.wait([&] { return before.load(std::memory_order_acquire) + ahead > n; });
    if (!step.failed.load(std::memory_order_acquire)) {
      Session& session = *sessions_[c % sessions_.size()];
      const void** const inputs = step.inputs.data() + c * p.inputs.size();
      void** const outputs = step.outputs.data() + c * p.outputs.size();
      Failure failure;
      try {
        if (stage == 0) {
          connect(inputs, outputs);
          failure = injected_fault();
          if (!failure) session.complete_inputs(inputs);
        }
        if (!failure)
          session.run_stage(stage, inputs, outputs,
                            static_cast<std::byte*>(frames_[n % frames_.size()].data()));
      } catch (const Error& e) {
        failure = session_failure(e);
      } catch (const std::exception& e) {
        failure = session_failure(Error(ErrorCode::resource_exhausted, e.what()));
      }
      if (failure) {
        const std::lock_guard lock(failure_mutex_);
        if (!step.failed.load(std::memory_order_relaxed)) step.failure = std::move(failure);
        step.failed.store(true, std::memory_order_release);
      } else if (stage + 1 == stages_) {
        Counters::add(counters_.batches);
      }
    }
    pipeline_[stage].finished.store(n + 1, std::memory_order_release);
    handed_.notify();
  }
}

// Called by the last stage when the other stages have counted all chunks of the step.
void Replica::finish(Step& step) noexcept {
  if (!step.failed.load(std::memory_order_acquire)) count_step(step);
  step.compute_end = stamp();
  under_way_.fetch_sub(1, std::memory_order_release);
  handed_.notify();
}

}  // namespace poprt::runtime

// Worker threads of one device. They sleep between runs and spin only during a run.
#pragma once

#include <cstdint>
#include <memory>

namespace poprt {

// Runs tasks on the calling thread and `threads - 1` workers. Only one thread at a time may use a
// pool. About 50 microseconds after end_run() the workers sleep (futex), so an idle pool uses no
// CPU. Between begin_run() and end_run() they spin, so that distributing one parallel_for costs
// well below a microsecond.
class ThreadPool {
 public:
  // `threads` is at least 1 and includes the caller. Throws resource_exhausted if a thread cannot
  // be started.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const noexcept;

  // Wakes the workers. They are ready about 30 microseconds later; work does not wait for them.
  void begin_run() noexcept;
  void end_run() noexcept;

  // Calls fn(context, begin, end, worker) for disjoint ranges that cover [0, tasks), on the caller
  // (worker 0) and the awake workers; returns when all calls have returned. The assignment of
  // ranges to threads is not fixed, but worker i gets approximately the i-th of equal shares if all
  // are equally fast.
  using Fn = void (*)(void* context, int64_t begin, int64_t end, int worker) noexcept;
  void parallel_for(int64_t tasks, Fn fn, void* context) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace poprt

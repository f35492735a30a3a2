// Worker threads of a device. They sleep between runs and spin only during a run.
#pragma once

#include <cstdint>
#include <memory>

namespace poprt {

// Runs tasks on the calling thread and up to `threads - 1` workers. Only one thread at a time may
// use a pool. About 50 microseconds after end_run() the workers sleep (futex), so an idle pool uses
// no CPU. Between begin_run() and end_run() they spin, so that distributing one parallel_for costs
// well below a microsecond.
//
// Pools made by shared() have common workers. If several of them run at the same time, each run has
// its caller, and the workers help all runs: with `threads` in all and n runs, `threads - n`
// workers are awake. So the process never computes on more threads than it would with one pool,
// except for callers beyond that number. A worker in use for one run takes tasks of another run
// when it has none left.
class ThreadPool {
 public:
  // `threads` includes the caller. Throws invalid_argument if it is less than 1, and
  // resource_exhausted if a thread cannot be started.
  explicit ThreadPool(int threads);
  // A pool whose workers are those of all shared pools with this number of threads.
  static std::unique_ptr<ThreadPool> shared(int threads);
  // Ends the workers unless another pool shares them. A forked child has no workers to end.
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
  // are equally fast. Outside of a run the caller executes all tasks.
  using Fn = void (*)(void* context, int64_t begin, int64_t end, int worker) noexcept;
  void parallel_for(int64_t tasks, Fn fn, void* context) noexcept;

  // The first task of the share of a worker; that of worker `threads` is `tasks`.
  static int64_t share_begin(int64_t tasks, int threads, int worker) noexcept {
    return tasks * worker / threads;
  }

 private:
  struct Slot;
  class Workers;
  explicit ThreadPool(std::shared_ptr<Workers> workers);

  std::shared_ptr<Workers> workers_;
  Slot* slot_ = nullptr;  // of the current run; null: only the caller runs tasks
};

}  // namespace poprt

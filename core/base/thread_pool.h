// Worker threads for one device: they sleep between runs and spin only inside one.
#pragma once

#include <cstdint>
#include <memory>

namespace poprt {

// Runs pieces of work on the calling thread plus `threads - 1` workers. One thread at a time uses a
// pool. Some 50 microseconds after end_run() workers sleep (futex): an idle pool uses no CPU.
// Between begin_run() and end_run() they spin, so that one parallel_for costs well below a
// microsecond to hand out.
class ThreadPool {
 public:
  // threads >= 1 counts the caller. Throws resource_exhausted when a thread cannot be made.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const noexcept;

  // Wakes the workers; they are ready some 30 microseconds later, work does not wait for them.
  void begin_run() noexcept;
  void end_run() noexcept;

  // Calls fn(context, begin, end, worker) for disjoint ranges that cover [0, tasks), on the caller
  // (worker 0) and awake workers; returns when all are done. Which thread gets what is not fixed,
  // but worker i gets about the i-th of equal shares when all keep pace.
  using Fn = void (*)(void* context, int64_t begin, int64_t end, int worker) noexcept;
  void parallel_for(int64_t tasks, Fn fn, void* context) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace poprt

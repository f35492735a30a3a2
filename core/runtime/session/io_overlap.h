// Items that are loaded, computed and stored, each by a thread of its own: while item n computes,
// n + 1 is loaded and n - 1 is stored. A device's loop over its batches, when it was compiled for
// overlapped I/O.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include "runtime/queue/waiter.h"

namespace poprt::runtime {

class IoOverlap {
 public:
  // Items that are under way at the same time: item n uses what belongs to slot n % kSlots.
  static constexpr uint64_t kSlots = 3;

  // What is done with an item. An exception ends the run: items before it are finished, others are
  // not begun.
  class Work {
   public:
    virtual ~Work() = default;
    virtual void load(uint64_t item) = 0;
    virtual void compute(uint64_t item) = 0;
    virtual void store(uint64_t item) = 0;
    // A load() that waits is to end: its item will not be computed. Any thread.
    virtual void interrupt() noexcept = 0;
  };

  // Starts the threads that load and store. Throws resource_exhausted.
  IoOverlap();
  ~IoOverlap();
  IoOverlap(const IoOverlap&) = delete;
  IoOverlap& operator=(const IoOverlap&) = delete;

  // False in a process that was forked from the one that made it: the threads are not there.
  bool usable() const noexcept;
  // Computes on the calling thread; one run at a time. Throws what the first item that failed
  // threw.
  void run(uint64_t count, Work& work);

 private:
  using Stage = void (Work::*)(uint64_t);
  void serve(bool loads) noexcept;
  void work_through(Stage stage, const std::atomic<uint64_t>& before, uint64_t ahead,
                    std::atomic<uint64_t>& done) noexcept;
  void fail_at(uint64_t item, std::exception_ptr why, bool loading) noexcept;

  Waiter changed_;
  std::atomic<uint64_t> runs_{0};
  std::atomic<bool> ending_{false};
  // Of a run.
  Work* work_ = nullptr;
  std::atomic<uint64_t> loaded_{0}, computed_{0}, stored_{0};
  std::atomic<uint64_t> end_{0};  // items from here on are not worked on
  std::atomic<int> idle_{0};      // threads that are through
  std::mutex failure_mutex_;
  std::exception_ptr failure_;

  const pid_t process_;
  std::thread loading_, storing_;
};

}  // namespace poprt::runtime

// Loads, computes and stores items on a thread each: while item n is computed, item n + 1 is loaded
// and item n - 1 is stored. It is the loop of a device over its batches if the model was compiled
// for overlapped I/O.
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
  // The number of items in progress at the same time. Item n uses the objects of slot n % kSlots.
  static constexpr uint64_t kSlots = 3;

  // The operations on an item. An exception ends the run: earlier items are finished, later ones
  // are not stored.
  class Work {
   public:
    virtual ~Work() = default;
    virtual void load(uint64_t item) = 0;
    virtual void compute(uint64_t item) = 0;
    virtual void store(uint64_t item) = 0;
    // Makes a blocked load() return; its item will not be computed. Any thread may call it.
    virtual void interrupt() noexcept = 0;
  };

  // Starts the threads that load and store. Throws resource_exhausted.
  IoOverlap();
  ~IoOverlap();
  IoOverlap(const IoOverlap&) = delete;
  IoOverlap& operator=(const IoOverlap&) = delete;

  // Returns false in a child process that was forked after construction, because it does not have
  // the threads.
  bool usable() const noexcept;
  // Computes on the calling thread; one run at a time. Throws the exception of the first item that
  // failed.
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
  // The state of a run.
  Work* work_ = nullptr;
  std::atomic<uint64_t> loaded_{0}, computed_{0}, stored_{0};
  std::atomic<uint64_t> end_{0};  // items from this one on are not processed
  std::atomic<int> idle_{0};      // number of threads that have finished
  std::mutex failure_mutex_;
  std::exception_ptr failure_;

  const pid_t process_;
  std::thread loading_, storing_;
};

}  // namespace poprt::runtime

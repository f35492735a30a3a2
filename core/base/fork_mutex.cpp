#include "base/fork_mutex.h"

#include <pthread.h>
#include <unistd.h>

namespace poprt {
namespace {

enum LockState : uint64_t { kUnlocked = 0, kLocked = 1, kWaitedFor = 2, kStateMask = 3 };

std::atomic<pid_t> process_now{0};

void note_process() noexcept { process_now.store(::getpid(), std::memory_order_relaxed); }

uint64_t word_of(pid_t process, LockState state) {
  return static_cast<uint64_t>(process) << 2 | state;
}

}  // namespace

pid_t this_process() noexcept {
  static const bool noted = [] {
    note_process();
    // If it fails for lack of memory, a child compares with its parent's number and waits as
    // before.
    static_cast<void>(::pthread_atfork(nullptr, nullptr, note_process));
    return true;
  }();
  static_cast<void>(noted);
  return process_now.load(std::memory_order_relaxed);
}

bool ForkMutex::try_lock() noexcept {
  uint64_t word = word_.load(std::memory_order_relaxed);
  return (word & kStateMask) == kUnlocked &&
         word_.compare_exchange_strong(word, word_of(this_process(), kLocked),
                                       std::memory_order_acquire, std::memory_order_relaxed);
}

void ForkMutex::lock() noexcept {
  const pid_t me = this_process();
  // After a wait, other threads may still be waiting, and unlock() must wake one of them.
  LockState taken = kLocked;
  uint64_t word = word_.load(std::memory_order_relaxed);
  for (;;) {
    const auto state = static_cast<LockState>(word & kStateMask);
    const bool of_parent = word >> 2 != static_cast<uint64_t>(me);
    if (state == kUnlocked || of_parent) {
      if (!word_.compare_exchange_weak(word, word_of(me, taken), std::memory_order_acquire,
                                       std::memory_order_relaxed))
        continue;
      if (state != kUnlocked) abandoned_ = true;
      return;
    }
    if (state == kLocked &&
        !word_.compare_exchange_weak(word, word_of(me, kWaitedFor), std::memory_order_relaxed))
      continue;
    taken = kWaitedFor;
    word_.wait(word_of(me, kWaitedFor), std::memory_order_relaxed);
    word = word_.load(std::memory_order_relaxed);
  }
}

void ForkMutex::unlock() noexcept {
  const uint64_t before =
      word_.exchange(word_of(this_process(), kUnlocked), std::memory_order_release);
  if ((before & kStateMask) == kWaitedFor) word_.notify_one();
}

}  // namespace poprt

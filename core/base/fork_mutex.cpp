#include "base/fork_mutex.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>

#include "base/futex.h"

namespace poprt {
namespace {

// In the state kReserved, the mutex is unlocked, but only threads that began to wait before the
// reservation may lock it.
enum LockState : uint64_t { kUnlocked = 0, kLocked = 1, kReserved = 2, kStateMask = 3 };
constexpr uint64_t kWaking = 4;
constexpr int kWaitingShift = 3, kProcessShift = 32;
constexpr uint64_t kWaitingMask = (uint64_t{1} << (kProcessShift - kWaitingShift)) - 1;
constexpr int64_t kPatience = 1'000'000;  // nanoseconds

std::atomic<pid_t> process_now{0};

void note_process() noexcept { process_now.store(::getpid(), std::memory_order_relaxed); }

// The library is initialized before a thread calls it. A static variable of this_process() would be
// initialized by the first call: a process that is forked meanwhile by another thread waits for the
// end of that initialization forever.
[[maybe_unused]] const bool noted = [] {
  // If it fails for lack of memory, the number stays 0, and each call gets it from the system.
  if (::pthread_atfork(nullptr, nullptr, note_process) == 0) note_process();
  return true;
}();

struct Word {
  pid_t process;
  uint64_t waiting;
  LockState state;
  bool waking;  // whether a thread was woken that has not looked at the word yet

  static Word of(uint64_t bits) {
    return {static_cast<pid_t>(bits >> kProcessShift), bits >> kWaitingShift & kWaitingMask,
            static_cast<LockState>(bits & kStateMask), (bits & kWaking) != 0};
  }
  uint64_t bits() const {
    return static_cast<uint64_t>(process) << kProcessShift | waiting << kWaitingShift |
           (waking ? kWaking : 0) | state;
  }
};

int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

pid_t this_process() noexcept {
  const pid_t known = process_now.load(std::memory_order_relaxed);
  // It is 0 before the initializer above has run, and if there is no handler of forks.
  return known != 0 ? known : ::getpid();
}

bool ForkMutex::try_lock() noexcept {
  uint64_t bits = word_.load(std::memory_order_relaxed);
  Word word = Word::of(bits);
  const pid_t me = this_process();
  if (word.process != me) word = {me, 0, word.state, false};
  return word.state == kUnlocked &&
         word_.compare_exchange_strong(bits, Word{me, word.waiting, kLocked, word.waking}.bits(),
                                       std::memory_order_acquire, std::memory_order_relaxed);
}

void ForkMutex::lock() noexcept {
  const pid_t me = this_process();
  bool waits = false, passed_over = false;  // it began to wait while the mutex was reserved
  uint32_t first = 0;
  const auto change = [&](uint64_t from, const Word& to) {
    return word_.compare_exchange_weak(from, to.bits(), std::memory_order_acq_rel,
                                       std::memory_order_relaxed);
  };
  for (;;) {
    // Read before the word: a change after this ends the wait below.
    const uint32_t seen = wakes_.load(std::memory_order_acquire);
    const uint64_t bits = word_.load(std::memory_order_acquire);
    const Word word = Word::of(bits);
    const bool of_parent = word.process != me;
    const bool reserved_for_me = waits && (!passed_over || seen != first);
    if (of_parent || word.state == kUnlocked || (word.state == kReserved && reserved_for_me)) {
      const uint64_t others = of_parent ? 0 : word.waiting - (waits ? 1 : 0);
      if (!change(bits, {me, others, kLocked, word.waking && !waits && !of_parent})) continue;
      if (of_parent && word.state == kLocked) abandoned_ = true;
      return;
    }
    if (!waits) {
      if (!change(bits, {me, word.waiting + 1, word.state, word.waking})) continue;
      waits = true;
      passed_over = word.state == kReserved;
      first = seen;
      if (word.waiting == 0) waiting_since_.store(now_ns(), std::memory_order_relaxed);
    } else if (word.waking) {
      // This thread sleeps again, so the next unlock() must wake a thread.
      change(bits, {me, word.waiting, word.state, false});
    } else {
      futex_wait(wakes_, seen);
    }
  }
}

void ForkMutex::unlock() noexcept {
  const pid_t me = this_process();
  uint64_t bits = word_.load(std::memory_order_relaxed);
  for (;;) {
    const Word word = Word::of(bits);
    const uint64_t waiting = word.process == me ? word.waiting : 0;
    const bool was_waking = waiting > 0 && word.waking;
    bool reserves = false;
    if (waiting > 0) {
      const int64_t now = now_ns();
      reserves = now - waiting_since_.load(std::memory_order_relaxed) > kPatience;
      if (reserves) waiting_since_.store(now, std::memory_order_relaxed);
    }
    const LockState state = reserves ? kReserved : kUnlocked;
    if (!word_.compare_exchange_weak(bits, Word{me, waiting, state, waiting > 0}.bits(),
                                     std::memory_order_acq_rel, std::memory_order_relaxed))
      continue;
    if (waiting > 0 && !was_waking) {
      wakes_.fetch_add(1, std::memory_order_release);
      futex_wake(wakes_, 1);
    }
    return;
  }
}

}  // namespace poprt

#include "base/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <system_error>
#include <thread>
#include <vector>

#include "base/denormals.h"
#include "base/error.h"
#include "base/pause.h"

namespace poprt {
namespace {

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// Called after each failed poll. It pauses; after `patience` it yields the processor each time, so
// that more threads than processors still make progress.
class Spin {
 public:
  explicit Spin(std::chrono::microseconds patience) noexcept : patience_(patience) {}

  void operator()() noexcept {
    if (yielding_) {
      sched_yield();
      return;
    }
    spin_pause();
    if (++polls_ % kPollsPerLook) return;
    const auto now = std::chrono::steady_clock::now();
    if (polls_ == kPollsPerLook) start_ = now;
    yielding_ = now - start_ > patience_;
  }
  void reset() noexcept {
    polls_ = 0;
    yielding_ = false;
  }

 private:
  static constexpr uint32_t kPollsPerLook = 128;  // reading the clock costs about one pause
  std::chrono::microseconds patience_;
  std::chrono::steady_clock::time_point start_;
  uint32_t polls_ = 0;
  bool yielding_ = false;
};

// A worker keeps spinning during layers that run on the caller only.
constexpr std::chrono::microseconds kWorkerPatience{200};
// After a run a worker spins a little longer than waking it would take. So a busy server does not
// pay for waking it in every request, and the workers of an idle one sleep soon.
constexpr std::chrono::microseconds kBetweenRuns{50};
// The caller waits only for tasks that are being executed. If that takes long, the worker may have
// lost its processor to the caller.
constexpr std::chrono::microseconds kCallerPatience{100};

// A claim takes 1 / kShare of the remaining range. So there are few claims, neighbouring tasks stay
// together, and the last claims are single tasks, so that all threads finish at about the same
// time.
constexpr uint32_t kShare = 4;

// The most tasks of one distribution, because positions are 32 bits wide.
constexpr int64_t kMostTasks = int64_t{1} << 31;

// The unclaimed tasks [begin, end) in one word.
constexpr uint64_t pack(uint32_t begin, uint32_t end) { return uint64_t{end} << 32 | begin; }
constexpr uint32_t begin_of(uint64_t range) { return static_cast<uint32_t>(range); }
constexpr uint32_t end_of(uint64_t range) { return static_cast<uint32_t>(range >> 32); }

}  // namespace

// A parallel_for gives each thread one range of tasks. The owner takes tasks from the front of its
// range; when that is empty, it takes from the back of the other ranges. So a slow thread loses
// work to the others, but otherwise the same part of the same job runs on the same processor every
// time, whose cache has the data.
//
// A thread that shrinks a range by compare-exchange owns those tasks and reads the job only
// afterwards. So a late worker may claim tasks of any parallel_for, even if it looked at an older
// one before: the caller cannot finish, and so cannot change the job, before every claimed task is
// reported as done.
struct ThreadPool::Impl {
  // The caller's release pairs with the acquire of a claim.
  struct alignas(64) Range {
    std::atomic<uint64_t> unclaimed{0};
  };
  struct alignas(64) Job {
    Fn fn = nullptr;
    void* context = nullptr;
    int64_t first = 0;  // task at position 0
  };
  Job job;
  std::vector<Range> ranges;  // one per thread
  // Tasks that workers have finished. Their release pairs with the acquire of the caller.
  alignas(64) std::atomic<int64_t> done{0};
  // Odd during a run. Workers sleep on it (futex); sequentially consistent with `sleepers`.
  alignas(64) std::atomic<uint32_t> run{0};
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stopping{false};
  int threads = 1;
  std::vector<std::thread> workers;

  // Claims and runs tasks of one range until it is empty. Returns the number of tasks run.
  int64_t drain(Range& from, bool own, int worker) noexcept {
    int64_t ran = 0;
    uint64_t range = from.unclaimed.load(std::memory_order_relaxed);
    while (begin_of(range) < end_of(range)) {
      uint32_t begin = begin_of(range), end = end_of(range);
      const uint32_t take = std::max<uint32_t>(1, (end - begin) / kShare);
      const uint64_t rest = own ? pack(begin + take, end) : pack(begin, end - take);
      if (!from.unclaimed.compare_exchange_weak(range, rest, std::memory_order_acquire,
                                                std::memory_order_relaxed))
        continue;
      if (own)
        end = begin + take;
      else
        begin = end - take;
      job.fn(job.context, job.first + begin, job.first + end, worker);
      ran += take;
      range = from.unclaimed.load(std::memory_order_relaxed);
    }
    return ran;
  }

  // Runs tasks until none is left. Returns the number of tasks run. While a worker waits for work,
  // it checks only its own range: checking the others would cause too much cache traffic.
  int64_t work(int worker) noexcept {
    const auto self = static_cast<size_t>(worker);
    int64_t ran = drain(ranges[self], true, worker);
    if (ran == 0 && worker != 0) return 0;
    for (size_t i = 1; i < ranges.size(); i++)
      ran += drain(ranges[(self + i) % ranges.size()], false, worker);
    return ran;
  }

  // Spins for a while. Returns whether a run began.
  bool linger(uint32_t seen) const noexcept {
    const auto end = std::chrono::steady_clock::now() + kBetweenRuns;
    do {
      for (int polls = 0; polls < 64; polls++) {
        if (run.load(std::memory_order_relaxed) != seen) return true;
        spin_pause();
      }
    } while (std::chrono::steady_clock::now() < end);
    return false;
  }

  void sleep(uint32_t seen) noexcept {
    sleepers.fetch_add(1);
    futex_wait(run, seen);  // returns at once if `run` is no longer `seen`
    sleepers.fetch_sub(1);
    // On a busy machine this thread may have woken on the processor of the caller, and preempted
    // it. It yields before it spins.
    sched_yield();
  }

  void worker_loop(int worker) noexcept {
    const FlushDenormals flush;
    for (;;) {
      const uint32_t seen = run.load();
      if (stopping.load()) return;
      if (seen % 2 == 0) {
        if (!linger(seen)) sleep(seen);
        continue;
      }
      Spin spin(kWorkerPatience);
      while (run.load(std::memory_order_relaxed) == seen) {
        if (const int64_t ran = work(worker)) {
          done.fetch_add(ran, std::memory_order_release);
          spin.reset();
        } else {
          spin();
        }
      }
    }
  }

  void hand_out(int64_t first, int64_t tasks, Fn fn, void* context) noexcept {
    job.fn = fn;
    job.context = context;
    job.first = first;
    done.store(0, std::memory_order_relaxed);
    for (int i = threads - 1; i >= 0; i--)
      ranges[static_cast<size_t>(i)].unclaimed.store(
          pack(static_cast<uint32_t>(tasks * i / threads),
               static_cast<uint32_t>(tasks * (i + 1) / threads)),
          std::memory_order_release);
    const int64_t others = tasks - work(0);
    Spin spin(kCallerPatience);
    while (done.load(std::memory_order_acquire) != others) spin();
  }

  void stop() noexcept {
    stopping.store(true);
    run.fetch_add(2);
    futex_wake_all(run);
    for (std::thread& t : workers) t.join();
    workers.clear();
  }
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>()) {
  if (threads < 1)
    fail(ErrorCode::invalid_argument, "a thread pool needs at least 1 thread, requested {}",
         threads);
  impl_->threads = threads;
  impl_->ranges = std::vector<Impl::Range>(static_cast<size_t>(threads));
  impl_->workers.reserve(static_cast<size_t>(threads - 1));
  // Signals belong to the application: workers inherit a mask that blocks all of them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  for (int i = 1; i < threads && !error; i++) {
    try {
      impl_->workers.emplace_back([impl = impl_.get(), i] { impl->worker_loop(i); });
      pthread_setname_np(impl_->workers.back().native_handle(), "poprt-worker");
    } catch (const std::system_error& e) {
      error = e.code().value();
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error) {
    impl_->stop();
    fail(ErrorCode::resource_exhausted, "cannot start {} threads: {}", threads - 1,
         std::generic_category().message(error));
  }
}

ThreadPool::~ThreadPool() { impl_->stop(); }

int ThreadPool::threads() const noexcept { return impl_->threads; }

void ThreadPool::begin_run() noexcept {
  if (impl_->threads == 1) return;
  impl_->run.fetch_add(1);
  // A worker that increments `sleepers` after this check finds that `run` has changed, so it does
  // not sleep.
  if (impl_->sleepers.load()) futex_wake_all(impl_->run);
}

void ThreadPool::end_run() noexcept {
  if (impl_->threads == 1) return;
  impl_->run.fetch_add(1);
}

void ThreadPool::parallel_for(int64_t tasks, Fn fn, void* context) noexcept {
  if (tasks <= 0) return;
  if (tasks == 1 || impl_->threads == 1) {
    fn(context, 0, tasks, 0);
    return;
  }
  for (int64_t first = 0; first < tasks; first += kMostTasks)
    impl_->hand_out(first, std::min(kMostTasks, tasks - first), fn, context);
}

}  // namespace poprt

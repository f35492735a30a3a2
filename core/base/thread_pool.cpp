#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <map>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/denormals.h"
#include "base/error.h"
#include "base/fork_mutex.h"
#include "base/futex.h"
#include "base/pause.h"
#include "base/threads.h"

namespace poprt {
namespace {

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
// one before, or at another run that had the slot: the caller cannot finish, and so cannot change
// the job, before every claimed task is reported as done.
struct ThreadPool::Slot {
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
  Workers* owner = nullptr;
  // Tasks that workers have finished. Their release pairs with the acquire of the caller.
  alignas(64) std::atomic<int64_t> done{0};

  // Claims and runs tasks of one range until it is empty. Returns the number of tasks run.
  // A worker stops early if it is no longer needed.
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
      if (worker != 0 && !is_needed(worker)) break;
      range = from.unclaimed.load(std::memory_order_relaxed);
    }
    return ran;
  }
  bool is_needed(int worker) const noexcept;

  // Runs tasks until none is left. Returns the number of tasks run. While a worker waits for work,
  // it checks only its own range: checking the others would cause too much cache traffic.
  int64_t work(int worker) noexcept {
    const auto self = static_cast<size_t>(worker);
    int64_t ran = drain(ranges[self], true, worker);
    if (worker != 0 && (ran == 0 || !is_needed(worker))) return ran;
    for (size_t i = 1; i < ranges.size(); i++)
      ran += drain(ranges[(self + i) % ranges.size()], false, worker);
    return ran;
  }

  // Runs tasks on the caller and the workers that are awake.
  void hand_out(int64_t first, int64_t tasks, Fn fn, void* context) noexcept {
    const auto threads = static_cast<int>(ranges.size());
    job.fn = fn;
    job.context = context;
    job.first = first;
    done.store(0, std::memory_order_relaxed);
    for (int i = threads - 1; i >= 0; i--)
      ranges[static_cast<size_t>(i)].unclaimed.store(
          pack(static_cast<uint32_t>(share_begin(tasks, threads, i)),
               static_cast<uint32_t>(share_begin(tasks, threads, i + 1))),
          std::memory_order_release);
    const int64_t others = tasks - work(0);
    Spin spin(kCallerPatience);
    while (done.load(std::memory_order_acquire) != others) spin();
  }
};

// The worker threads of one pool, or of all shared pools of one size, with a slot for each run that
// they help.
class ThreadPool::Workers {
 public:
  Workers(int threads, int slots);
  ~Workers() {
    // In a forked child the workers do not exist, and joining them would never return.
    if (process_ == getpid())
      stop();
    else
      new std::vector<std::thread>(std::move(workers_));  // never destroyed
  }

  int threads() const noexcept { return threads_; }
  bool of_this_process() const noexcept { return process_ == getpid(); }

  // Takes a slot and wakes the workers. Returns null if there is no slot.
  Slot* begin() noexcept;
  void end(Slot* slot) noexcept;
  bool is_needed(int worker) const noexcept {
    return helps(busy_.load(std::memory_order_relaxed), worker);
  }

 private:
  static constexpr int kMostSlots = 64;  // bits of `busy_`

  // Whether a worker helps: with n runs, the last n - 1 workers sleep.
  bool helps(uint64_t busy, int worker) const noexcept {
    return busy != 0 && worker <= threads_ - std::popcount(busy);
  }
  void wake() noexcept {
    epoch_.fetch_add(1);
    // A worker that increments `sleepers_` after this check finds that `epoch_` has changed, so it
    // does not sleep.
    if (sleepers_.load()) futex_wake(epoch_);
  }
  void start();
  void stop() noexcept;
  void worker_loop(int worker) noexcept;
  bool linger(uint32_t seen) const noexcept;
  void sleep(uint32_t seen) noexcept;
  int64_t work(uint64_t busy, int worker) noexcept;

  const int threads_;
  const pid_t process_ = getpid();
  std::vector<Slot> slots_;
  // The slots of current runs.
  alignas(64) std::atomic<uint64_t> busy_{0};
  // Changes when a run begins or ends and workers are needed afterwards, and when the workers stop.
  // Workers sleep on it (futex); sequentially consistent with `sleepers_` and `busy_`.
  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

ThreadPool::Workers::Workers(int threads, int slots)
    : threads_(threads), slots_(static_cast<size_t>(std::min(slots, kMostSlots))) {
  for (Slot& slot : slots_) {
    slot.ranges = std::vector<Slot::Range>(static_cast<size_t>(threads));
    slot.owner = this;
  }
  start();
}

bool ThreadPool::Slot::is_needed(int worker) const noexcept { return owner->is_needed(worker); }

ThreadPool::Slot* ThreadPool::Workers::begin() noexcept {
  const auto all = slots_.size() == kMostSlots ? ~uint64_t{0} : (uint64_t{1} << slots_.size()) - 1;
  uint64_t busy = busy_.load();
  for (;;) {
    const uint64_t free = all & ~busy;
    if (free == 0) return nullptr;
    const uint64_t bit = free & (~free + 1);
    if (!busy_.compare_exchange_weak(busy, busy | bit)) continue;
    if (helps(busy | bit, 1)) wake();
    return &slots_[static_cast<size_t>(std::countr_zero(bit))];
  }
}

void ThreadPool::Workers::end(Slot* slot) noexcept {
  const uint64_t bit = uint64_t{1} << (slot - slots_.data());
  const uint64_t left = busy_.fetch_and(~bit) & ~bit;
  // One more worker may now help the other runs.
  if (helps(left, 1)) wake();
}

// Runs tasks of the runs in the slots. The workers are spread over them.
int64_t ThreadPool::Workers::work(uint64_t busy, int worker) noexcept {
  const int runs = std::popcount(busy);
  uint64_t later = busy;
  for (int i = worker % runs; i > 0; i--) later &= later - 1;
  const uint64_t earlier = busy & ~later;
  for (uint64_t part : {later, earlier})
    for (; part; part &= part - 1) {
      Slot& slot = slots_[static_cast<size_t>(std::countr_zero(part))];
      if (const int64_t ran = slot.work(worker)) {
        slot.done.fetch_add(ran, std::memory_order_release);
        return ran;
      }
    }
  return 0;
}

// Spins for a while. Returns whether `epoch_` has changed meanwhile.
bool ThreadPool::Workers::linger(uint32_t seen) const noexcept {
  const auto end = std::chrono::steady_clock::now() + kBetweenRuns;
  do {
    for (int polls = 0; polls < 64; polls++) {
      if (epoch_.load(std::memory_order_relaxed) != seen) return true;
      spin_pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

void ThreadPool::Workers::sleep(uint32_t seen) noexcept {
  sleepers_.fetch_add(1);
  futex_wait(epoch_, seen);  // returns at once if `epoch_` is no longer `seen`
  sleepers_.fetch_sub(1);
  // On a busy machine this thread may have woken on the processor of the caller, and preempted it.
  // It yields before it spins.
  sched_yield();
}

void ThreadPool::Workers::worker_loop(int worker) noexcept {
  const FlushDenormals flush;
  for (;;) {
    const uint32_t seen = epoch_.load();
    if (stopping_.load()) return;
    if (!helps(busy_.load(), worker)) {
      if (!linger(seen)) sleep(seen);
      continue;
    }
    Spin spin(kWorkerPatience);
    for (;;) {
      const uint64_t busy = busy_.load(std::memory_order_relaxed);
      if (!helps(busy, worker) || stopping_.load(std::memory_order_relaxed)) break;
      if (work(busy, worker))
        spin.reset();
      else
        spin();
    }
  }
}

void ThreadPool::Workers::stop() noexcept {
  stopping_.store(true);
  epoch_.fetch_add(1);
  futex_wake(epoch_);
  for (std::thread& t : workers_) t.join();
  workers_.clear();
}

void ThreadPool::Workers::start() {
  workers_.reserve(static_cast<size_t>(threads_ - 1));
  int error = 0;
  {
    const BlockedSignals blocked;  // workers inherit the mask
    for (int i = 1; i < threads_ && !error; i++) {
      try {
        workers_.emplace_back([this, i] { worker_loop(i); });
        pthread_setname_np(workers_.back().native_handle(), "poprt-worker");
      } catch (const std::system_error& e) {
        error = e.code().value();
      }
    }
  }
  if (error) {
    stop();
    fail(ErrorCode::resource_exhausted, "cannot start {} threads: {}", threads_ - 1,
         std::generic_category().message(error));
  }
}

ThreadPool::ThreadPool(std::shared_ptr<Workers> workers) : workers_(std::move(workers)) {}

ThreadPool::ThreadPool(int threads) {
  if (threads < 1)
    fail(ErrorCode::invalid_argument, "a thread pool needs at least 1 thread, requested {}",
         threads);
  workers_ = std::make_shared<Workers>(threads, 1);
}

std::unique_ptr<ThreadPool> ThreadPool::shared(int threads) {
  if (threads < 2) return std::make_unique<ThreadPool>(threads);
  using Known = std::map<int, std::weak_ptr<Workers>>;
  static ForkMutex mutex;
  static Known* known = nullptr;
  static pid_t made_by = 0;  // the process that made it
  const std::lock_guard lock(mutex);
  // If another thread held the mutex during the fork, it may have been in the middle of a change.
  if (!known || (mutex.abandoned() && made_by != this_process())) {
    known = new Known;  // never destroyed
    made_by = this_process();
  }
  std::weak_ptr<Workers>& entry = (*known)[threads];
  std::shared_ptr<Workers> workers = entry.lock();
  if (!workers || !workers->of_this_process())
    entry = workers = std::make_shared<Workers>(threads, threads);
  return std::unique_ptr<ThreadPool>(new ThreadPool(std::move(workers)));
}

ThreadPool::~ThreadPool() { end_run(); }

int ThreadPool::threads() const noexcept { return workers_->threads(); }

void ThreadPool::begin_run() noexcept {
  if (threads() > 1 && !slot_) slot_ = workers_->begin();
}

void ThreadPool::end_run() noexcept {
  if (slot_) workers_->end(std::exchange(slot_, nullptr));
}

void ThreadPool::parallel_for(int64_t tasks, Fn fn, void* context) noexcept {
  if (tasks <= 0) return;
  if (tasks == 1 || !slot_) {
    fn(context, 0, tasks, 0);
    return;
  }
  for (int64_t first = 0; first < tasks; first += kMostTasks)
    slot_->hand_out(first, std::min(kMostTasks, tasks - first), fn, context);
}

}  // namespace poprt

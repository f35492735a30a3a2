#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/denormals.h"
#include "base/error.h"
#include "support/sanitized.h"

namespace poprt {
namespace {

struct Counts {
  explicit Counts(int64_t tasks) : times(static_cast<size_t>(tasks)) {}
  std::vector<std::atomic<int>> times;
  std::atomic<int> workers_seen{0};  // bit set
  std::atomic<int> bad_ranges{0};

  static void run(void* context, int64_t begin, int64_t end, int worker) noexcept {
    auto& self = *static_cast<Counts*>(context);
    if (begin < 0 || begin >= end || end > static_cast<int64_t>(self.times.size())) {
      self.bad_ranges++;
      return;
    }
    self.workers_seen |= 1 << worker;
    for (int64_t i = begin; i < end; i++) self.times[static_cast<size_t>(i)]++;
  }

  bool each_once() const {
    for (const auto& t : times)
      if (t != 1) return false;
    return bad_ranges == 0;
  }
};

TEST(ThreadPool, RunsEachTaskOnce) {
  for (int threads = 1; threads <= 4; threads++) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    pool.begin_run();
    for (const int64_t tasks : {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 63, 100, 500, 12345}) {
      Counts counts(tasks);
      pool.parallel_for(tasks, Counts::run, &counts);
      EXPECT_TRUE(counts.each_once()) << threads << " threads, " << tasks << " tasks";
      EXPECT_LT(counts.workers_seen, 1 << threads);
    }
    pool.end_run();
  }
}

TEST(ThreadPool, WorksOutsideARun) {
  ThreadPool pool(3);
  Counts counts(100);
  pool.parallel_for(100, Counts::run, &counts);
  EXPECT_TRUE(counts.each_once());
  EXPECT_EQ(counts.workers_seen, 1) << "workers sleep between runs";
}

// Runs are short, so workers may wake in a later run than the one that woke them, or in none.
TEST(ThreadPool, SurvivesLateWorkers) {
  for (int threads = 2; threads <= 4; threads++) {
    ThreadPool pool(threads);
    for (int run = 0; run < 2000; run++) {
      pool.begin_run();
      for (int k = 0; k < run % 4; k++) {
        const int64_t tasks = 2 + (run * 7 + k * 3) % 40;
        Counts counts(tasks);
        pool.parallel_for(tasks, Counts::run, &counts);
        ASSERT_TRUE(counts.each_once()) << "run " << run;
      }
      pool.end_run();
      if (run % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

TEST(ThreadPool, ManyLoopsInOneRunSeeTheirOwnData) {
  ThreadPool pool(4);
  pool.begin_run();
  // Plain memory, written by workers and read by the caller: the pool itself orders the accesses.
  std::vector<int64_t> data(64);
  struct Job {
    std::vector<int64_t>* data;
    int64_t round;
  };
  for (int64_t round = 0; round < 5000; round++) {
    Job job{&data, round};
    const int64_t tasks = 2 + round % 63;
    pool.parallel_for(
        tasks,
        [](void* context, int64_t begin, int64_t end, int) noexcept {
          const auto& j = *static_cast<Job*>(context);
          for (int64_t i = begin; i < end; i++) (*j.data)[static_cast<size_t>(i)] = j.round + i;
        },
        &job);
    for (int64_t i = 0; i < tasks; i++) ASSERT_EQ(data[static_cast<size_t>(i)], round + i);
  }
  pool.end_run();
}

TEST(ThreadPool, WorkersJoinARunThatLastsLongEnough) {
  ThreadPool pool(2);
  pool.begin_run();
  // Each loop delays the caller until the worker has taken a task.
  std::atomic<bool> worker_came{false};
  for (int i = 0; i < 1000 && !worker_came; i++) {
    pool.parallel_for(
        16,
        [](void* context, int64_t, int64_t, int worker) noexcept {
          auto& came = *static_cast<std::atomic<bool>*>(context);
          if (worker == 1) came = true;
          if (!came) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        },
        &worker_came);
  }
  pool.end_run();
  EXPECT_TRUE(worker_came);
}

// Delays the caller until the worker has taken a task, for at most ten seconds. Returns whether it
// has.
bool worker_joins(ThreadPool& pool) {
  std::atomic<bool> came{false};
  for (int i = 0; i < 600 && !came; i++)
    pool.parallel_for(
        16,
        [](void* context, int64_t, int64_t, int worker) noexcept {
          auto& flag = *static_cast<std::atomic<bool>*>(context);
          if (worker == 1) flag = true;
          if (!flag) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        },
        &came);
  return came;
}

TEST(ThreadPool, WorkersThatSleepAreWokenForARun) {
  ThreadPool pool(2);
  for (int run = 0; run < 3; run++) {
    std::this_thread::sleep_for(
        std::chrono::milliseconds(20));  // many times as long as the workers linger
    pool.begin_run();
    EXPECT_TRUE(worker_joins(pool)) << "run " << run;
    EXPECT_TRUE(worker_joins(pool)) << "the second loop of run " << run;
    pool.end_run();
  }
}

// The test measures processor time, because wall-clock time depends on the load of the machine.
TEST(ThreadPool, WorkersThatWaitForARunUseNoProcessor) {
  const auto used = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  ThreadPool pool(4);
  pool.begin_run();
  pool.end_run();
  const double before = used();
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_LT(used() - before, 0.05) << "seconds of three workers in 0.15 s";
}

TEST(ThreadPool, TwoPoolsRunSideBySide) {
  auto user = [](int threads, std::atomic<int>* good) {
    ThreadPool pool(threads);
    for (int run = 0; run < 200; run++) {
      pool.begin_run();
      for (int k = 0; k < 5; k++) {
        Counts counts(2 + run % 50);
        pool.parallel_for(2 + run % 50, Counts::run, &counts);
        *good += counts.each_once();
      }
      pool.end_run();
    }
  };
  std::atomic<int> good{0};
  std::thread other(user, 2, &good);
  user(3, &good);
  other.join();
  EXPECT_EQ(good, 2000);
}

TEST(ThreadPool, CanBeDestroyedInsideARun) {
  for (int i = 0; i < 50; i++) {
    ThreadPool pool(3);
    if (i % 2) pool.begin_run();
  }
}

// Returns the number of threads of this process with the name poprt-worker.
int count_workers() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "comm");
    std::string name;
    std::getline(file, name);
    count += name == "poprt-worker";
  }
  return count;
}

TEST(ThreadPool, SharedPoolsHaveTheWorkersOfOne) {
  const int before = count_workers();
  std::vector<std::unique_ptr<ThreadPool>> pools;
  for (int i = 0; i < 8; i++) pools.push_back(ThreadPool::shared(5));
  EXPECT_EQ(count_workers(), before + 4);
  for (const auto& pool : pools) EXPECT_EQ(pool->threads(), 5);
  const ThreadPool own(3);
  EXPECT_EQ(count_workers(), before + 6);
  pools.resize(1);
  EXPECT_EQ(count_workers(), before + 6);
  pools.clear();
  EXPECT_EQ(count_workers(), before + 2) << "the last pool ends them";
}

TEST(ThreadPool, SharedPoolsRunEachTaskOnceAtTheSameTime) {
  std::atomic<int> good{0};
  const auto user = [&](int number) {
    const auto pool = ThreadPool::shared(4);
    for (int run = 0; run < 200; run++) {
      pool->begin_run();
      for (int k = 0; k < 5; k++) {
        const int64_t tasks = 2 + (run * 7 + number) % 50;
        Counts counts(tasks);
        pool->parallel_for(tasks, Counts::run, &counts);
        good += counts.each_once();
      }
      pool->end_run();
    }
  };
  std::vector<std::thread> users;
  for (int i = 0; i < 8; i++) users.emplace_back(user, i);
  for (std::thread& t : users) t.join();
  EXPECT_EQ(good, 8 * 200 * 5);
}

TEST(ThreadPool, WorkersHelpTheRunOfAnySharedPool) {
  const auto first = ThreadPool::shared(2), second = ThreadPool::shared(2);
  for (ThreadPool* pool : {first.get(), second.get(), first.get()}) {
    pool->begin_run();
    EXPECT_TRUE(worker_joins(*pool));
    pool->end_run();
  }
}

// As many runs as threads share the workers. The next one computes its tasks alone, in one call.
TEST(ThreadPool, RunsBeyondTheNumberOfThreadsUseOnlyTheirCaller) {
  struct Calls {
    std::atomic<int> calls{0};
    std::atomic<int64_t> tasks{0};
    static void run(void* context, int64_t begin, int64_t end, int) noexcept {
      auto& self = *static_cast<Calls*>(context);
      self.calls++;
      self.tasks += end - begin;
    }
  };
  const auto calls = [](ThreadPool& pool) {
    Calls counted;
    pool.parallel_for(300, Calls::run, &counted);
    EXPECT_EQ(counted.tasks, 300);
    return counted.calls.load();
  };
  std::vector<std::unique_ptr<ThreadPool>> pools;
  for (int i = 0; i < 4; i++) {
    pools.push_back(ThreadPool::shared(3));
    pools.back()->begin_run();
  }
  EXPECT_GT(calls(*pools[0]), 1);
  EXPECT_GT(calls(*pools[2]), 1);
  EXPECT_EQ(calls(*pools[3]), 1);
  for (const auto& pool : pools) pool->end_run();
  pools[3]->begin_run();
  EXPECT_GT(calls(*pools[3]), 1);
  pools[3]->end_run();
}

// With n runs of pools of 4 threads, their n callers and workers 1 to 4 - n are in tasks, all four
// at the same time. A worker that has seen fewer runs before may still claim tasks once. Threads
// are counted in tasks, so the load of the machine does not matter.
TEST(ThreadPool, RunsOfSharedPoolsUseNoMoreThreadsThanOne) {
  struct InTasks {
    int runs = 0;
    std::atomic<int> now{0}, most{0};
    std::atomic<bool> waits{true};  // until four threads are in tasks
    std::array<std::atomic<int>, 4>
        late{};  // calls by worker, of those that must sleep during `runs` runs

    static void run(void* context, int64_t begin, int64_t end, int worker) noexcept {
      auto& self = *static_cast<InTasks*>(context);
      if (worker > 4 - self.runs && worker != 0) {
        self.late[static_cast<size_t>(worker)]++;
        return;
      }
      const int now = ++self.now;
      int most = self.most;
      while (now > most && !self.most.compare_exchange_weak(most, now)) {
      }
      for (int wait = 0; self.most < 4 && self.waits && wait < 20000; wait++)
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      self.waits = false;
      std::this_thread::sleep_for(std::chrono::microseconds(300) * (end - begin));
      self.now--;
    }
  };
  for (int runs = 1; runs <= 4; runs++) {
    InTasks tasks;
    tasks.runs = runs;
    std::atomic<int> begun{0}, ended{0};
    std::vector<std::thread> users;
    for (int i = 0; i < runs; i++)
      users.emplace_back([&] {
        const auto pool = ThreadPool::shared(4);
        pool->begin_run();
        begun++;
        while (begun != runs) std::this_thread::yield();
        for (int k = 0; k < 20; k++) pool->parallel_for(60, InTasks::run, &tasks);
        ended++;
        while (ended != runs) std::this_thread::yield();
        pool->end_run();
      });
    for (std::thread& t : users) t.join();
    EXPECT_EQ(tasks.most, 4) << runs << " runs";
    for (const auto& calls : tasks.late) EXPECT_LE(calls, 1) << runs << " runs";
  }
}

// A second run of pools of two threads takes the worker away from the first. The worker finishes
// its call and leaves the other tasks of its share, and those of the caller, to the caller.
TEST(ThreadPool, AWorkerThatIsNoLongerNeededTakesNoMoreTasks) {
  struct Work {
    ThreadPool& other;
    std::atomic<int> calls{0};  // of the worker
    std::atomic<bool> in_task{false}, other_began{false}, finished{false};

    static void run(void* context, int64_t, int64_t, int worker) noexcept {
      auto& self = *static_cast<Work*>(context);
      if (worker == 1) {
        self.calls++;
        self.in_task = true;
        wait_for(self.other_began);
        self.finished = true;
        return;
      }
      if (self.other_began) return;
      wait_for(self.in_task);
      self.other.begin_run();
      self.other_began = true;
      wait_for(self.finished);
      // The worker has time to claim more, which it must not do.
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    static void wait_for(const std::atomic<bool>& flag) noexcept {
      for (int wait = 0; !flag && wait < 20000; wait++)
        std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  };
  const auto first = ThreadPool::shared(2), second = ThreadPool::shared(2);
  Work work{*second};
  first->begin_run();
  first->parallel_for(24, Work::run, &work);
  EXPECT_TRUE(work.finished);
  EXPECT_EQ(work.calls, 1);
  second->end_run();
  EXPECT_TRUE(worker_joins(*first)) << "one run is left, which the worker helps again";
  first->end_run();
}

// The caller is in its first task until the worker has run all others, also those of the caller's
// share.
TEST(ThreadPool, AWorkerTakesTheTasksOfASlowCaller) {
  constexpr int64_t kTasks = 64;
  struct Work {
    std::atomic<int64_t> by_worker{0}, claimed_by_caller{0};

    static void run(void* context, int64_t begin, int64_t end, int worker) noexcept {
      auto& self = *static_cast<Work*>(context);
      if (worker == 1) {
        self.by_worker += end - begin;
        return;
      }
      self.claimed_by_caller += end - begin;
      for (int wait = 0; self.by_worker + self.claimed_by_caller != kTasks && wait < 20000; wait++)
        std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  };
  ThreadPool pool(2);
  Work work;
  pool.begin_run();
  pool.parallel_for(kTasks, Work::run, &work);
  pool.end_run();
  EXPECT_EQ(work.by_worker + work.claimed_by_caller, kTasks);
  EXPECT_LE(work.claimed_by_caller, 8) << "a claim is a quarter of the share of 32 tasks";
}

TEST(ThreadPool, SharesOfUpToSixteenWorkersAreEqual) {
  for (int threads = 1; threads <= 16; threads++)
    for (int64_t tasks = 1; tasks <= 300; tasks++) {
      ASSERT_EQ(ThreadPool::share_begin(tasks, threads, 0), 0);
      ASSERT_EQ(ThreadPool::share_begin(tasks, threads, threads), tasks);
      int64_t least = tasks, most = 0;
      for (int i = 0; i < threads; i++) {
        const int64_t share = ThreadPool::share_begin(tasks, threads, i + 1) -
                              ThreadPool::share_begin(tasks, threads, i);
        least = std::min(least, share);
        most = std::max(most, share);
      }
      ASSERT_LE(most - least, 1) << tasks << " tasks of " << threads << " threads";
    }
}

// Tasks of equal length (they sleep, so that they need no processor) are spread evenly, once all
// workers have come.
TEST(ThreadPool, EqualTasksAreSpreadOverSixteenWorkers) {
  struct Work {
    std::array<std::atomic<int>, 16> tasks{};
    std::atomic<uint32_t> came{0};
    static void run(void* context, int64_t begin, int64_t end, int worker) noexcept {
      auto& self = *static_cast<Work*>(context);
      self.came |= uint32_t{1} << worker;
      for (int wait = 0; self.came != 0xFFFF && wait < 20000; wait++)
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      for (int64_t i = begin; i < end; i++) {
        self.tasks[static_cast<size_t>(worker)]++;
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
      }
    }
  };
  ThreadPool pool(16);
  constexpr int64_t kShare = 12;
  Work work;
  pool.begin_run();
  pool.parallel_for(16 * kShare, Work::run, &work);
  pool.end_run();
  ASSERT_EQ(work.came, 0xFFFFu);
  int most = 0, all = 0;
  for (const auto& count : work.tasks) {
    most = std::max(most, count.load());
    all += count;
  }
  EXPECT_EQ(all, 16 * kShare);
  EXPECT_LE(most, 2 * kShare) << "of " << kShare << " each";
}

#if !POPRT_TEST_SANITIZED
// The parent forks while another thread of it makes and ends shared pools.
TEST(ThreadPool, AForkedChildMakesSharedPoolsOfItsOwn) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    for (int threads = 2; !stop; threads = threads % 6 + 2) ThreadPool::shared(threads);
  });
  for (int i = 0; i < 50; i++) {
    const pid_t child = fork();
    if (child == 0) {
      const auto first = ThreadPool::shared(3), second = ThreadPool::shared(3);
      std::atomic<int64_t> sum{0};
      for (ThreadPool* pool : {first.get(), second.get()}) {
        pool->begin_run();
        pool->parallel_for(
            100,
            [](void* context, int64_t begin, int64_t end, int) noexcept {
              for (int64_t j = begin; j < end; j++)
                *static_cast<std::atomic<int64_t>*>(context) += j;
            },
            &sum);
        pool->end_run();
      }
      _exit(sum == 2 * 4950 ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  other.join();
}

// Runs in a separate process, which has no memory for the stacks of more threads.
TEST(ThreadPool, ThreadsThatCannotBeStartedAreAnError) {
  const pid_t child = fork();
  if (child == 0) {
    rlimit none{};
    getrlimit(RLIMIT_AS, &none);
    none.rlim_cur = 0;
    sigset_t before, after;
    sigprocmask(SIG_SETMASK, nullptr, &before);
    setrlimit(RLIMIT_AS, &none);
    int result = 1;
    try {
      const ThreadPool pool(64);  // more than stacks are kept for
    } catch (const Error& e) {
      sigprocmask(SIG_SETMASK, nullptr, &after);
      const bool same = sigismember(&before, SIGUSR1) == sigismember(&after, SIGUSR1);
      const bool expected_message = e.message().starts_with("cannot start 63 threads: ");
      result = e.code() != ErrorCode::resource_exhausted ? 2
               : !expected_message                       ? 3
               : !same                                   ? 4
                                                         : 0;
    } catch (...) {
      result = 5;
    }
    _exit(result);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "it died of signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

TEST(ThreadPool, RefusesZeroThreads) {
  try {
    ThreadPool pool(0);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
  }
}

// Computes at run time, because of `volatile`, in the mode of the calling thread.
float half_of(float x) {
  volatile float v = x;
  return v * 0.5f;
}

TEST(ThreadPool, WorkersFlushDenormals) {
#if defined(__x86_64__) || defined(__aarch64__)
  ThreadPool pool(2);
  pool.begin_run();
  std::atomic<float> seen{-1};
  for (int i = 0; i < 1000 && seen < 0; i++) {
    pool.parallel_for(
        16,
        [](void* context, int64_t, int64_t, int worker) noexcept {
          auto& out = *static_cast<std::atomic<float>*>(context);
          if (worker == 1) out = half_of(std::numeric_limits<float>::min());
          if (out < 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        },
        &seen);
  }
  pool.end_run();
  EXPECT_EQ(seen, 0.0f);
#endif
}

TEST(FlushDenormals, FlushesInItsScopeOnly) {
  const float smallest = std::numeric_limits<float>::min();
  EXPECT_GT(half_of(smallest), 0.0f);
#if defined(__x86_64__) || defined(__aarch64__)
  {
    const FlushDenormals outer;
    EXPECT_EQ(half_of(smallest), 0.0f);
    {
      const FlushDenormals inner;
      EXPECT_EQ(half_of(smallest), 0.0f);
    }
    EXPECT_EQ(half_of(smallest), 0.0f);
  }
#endif
  EXPECT_GT(half_of(smallest), 0.0f);
}

}  // namespace
}  // namespace poprt

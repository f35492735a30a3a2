#include "device/thread_count.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "device/cpu_quota.h"

namespace poprt::device {
namespace {

TEST(DefaultThreads, ReadsTheEnvironment) {
  setenv("POPRT_THREADS", "3", 1);
  EXPECT_EQ(default_threads(), 3);
  for (const char* bad : {"0", "x", "2x", "-1", "99999"}) {
    setenv("POPRT_THREADS", bad, 1);
    EXPECT_THROW(default_threads(), Error) << bad;
  }
  unsetenv("POPRT_THREADS");
  EXPECT_GE(default_threads(), 1);
}

// A thread that may run on one processor only uses one thread.
TEST(DefaultThreads, AreTheProcessorsThatThereAreForIt) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  std::thread([&] {
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(default_threads(), 1);
  }).join();
  const int quota = cpu_quota().value_or(CPU_SETSIZE);
  EXPECT_EQ(default_threads(), std::min(CPU_COUNT(&all), quota));
}

TEST(ThreadsFor, AreTheGivenOrTheDefault) {
  EXPECT_EQ(threads_for(0), default_threads());
  for (const int n : {1, 1024}) EXPECT_EQ(threads_for(n), n);
  for (const int n : {-1, 1025}) EXPECT_THROW(threads_for(n), Error) << n;
}

}  // namespace
}  // namespace poprt::device

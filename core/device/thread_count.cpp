#include "device/thread_count.h"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "base/first_use.h"
#include "device/cpu_quota.h"
#include "device/environment.h"

namespace poprt::device {
namespace {

constexpr int kMaxThreads = 1024;

}  // namespace

int default_threads() {
  if (const auto given = environment_int("POPRT_THREADS", 1, kMaxThreads))
    return static_cast<int>(*given);
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cpus = sched_getaffinity(0, sizeof set, &set) == 0
                       ? CPU_COUNT(&set)
                       : static_cast<int>(std::thread::hardware_concurrency());
  static constinit FirstUse<const int> known;
  const int quota = known.get([] { return cpu_quota().value_or(kMaxThreads); });
  return std::clamp(std::min(cpus, quota), 1, kMaxThreads);
}

int threads_for(int wanted) {
  if (wanted < 0 || wanted > kMaxThreads)
    fail(ErrorCode::invalid_argument, "threads must be 1 to {}, or 0 for the default; given {}",
         kMaxThreads, wanted);
  return wanted == 0 ? default_threads() : wanted;
}

}  // namespace poprt::device

#include "base/time_slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace poprt {
namespace {

// struct sched_attr as of Linux 3.14; glibc does not declare it.
struct Attributes {
  uint32_t size = sizeof(Attributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // the time slice of a normal thread, in ns
  uint64_t deadline = 0, period = 0;
};
static_assert(sizeof(Attributes) == 48);

constexpr uint64_t kResetOnFork = 1;
constexpr uint64_t kShort = 100'000;  // in ns; the kernel raises smaller values to this one

}  // namespace

void request_short_time_slice() noexcept {
  Attributes a;
  if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) != 0) return;
  // A real-time or background thread keeps its settings, because they were chosen deliberately.
  if (a.policy != SCHED_OTHER) return;
  a.size = sizeof a;
  // Threads must not inherit the slice. The flag would also reset a raised priority, so it is not
  // set then.
  if (a.nice >= 0) a.flags |= kResetOnFork;
  a.runtime = kShort;
  syscall(SYS_sched_setattr, 0, &a, 0);
}

}  // namespace poprt

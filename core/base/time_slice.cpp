#include "base/time_slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace poprt {
namespace {

// The kernel's struct sched_attr as far as 3.14 has it; glibc has none.
struct Attributes {
  uint32_t size = sizeof(Attributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // the slice of an ordinary thread, in ns
  uint64_t deadline = 0, period = 0;
};
static_assert(sizeof(Attributes) == 48);

constexpr uint64_t kResetOnFork = 1;
constexpr uint64_t kShort = 100'000;  // the least that the kernel takes

}  // namespace

void expect_short_stretches() noexcept {
  Attributes a;
  if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) != 0) return;
  // Whoever made the thread a real-time or a background one knows better.
  if (a.policy != SCHED_OTHER) return;
  a.size = sizeof a;
  // Not inherited; but a thread of raised priority would not pass that on either.
  if (a.nice >= 0) a.flags |= kResetOnFork;
  a.runtime = kShort;
  syscall(SYS_sched_setattr, 0, &a, 0);
}

}  // namespace poprt

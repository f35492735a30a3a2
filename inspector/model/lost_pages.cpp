#include "model/lost_pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "base/error.h"

namespace poprt::inspector {
namespace {

std::atomic<uint64_t> lost{0};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "a signal handler uses it");
uintptr_t page_bytes = 4096;

// After this returns, the instruction is repeated. The page is replaced by a direct system call,
// because ThreadSanitizer treats mmap() as a write that races with reads of other threads.
void on_bus_error(int signal, siginfo_t* info, void*) {
  const int before = errno;
  const uintptr_t page = reinterpret_cast<uintptr_t>(info->si_addr) / page_bytes * page_bytes;
  const bool gone = info->si_code == BUS_ADRERR;
  if (gone && syscall(SYS_mmap, page, page_bytes, PROT_READ,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1L, 0L) != -1)
    lost.fetch_add(1, std::memory_order_relaxed);
  else
    std::signal(signal, SIG_DFL);  // not a page of a mapped file: use the default action
  errno = before;
}

}  // namespace

void survive_lost_pages() {
  page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGBUS, &action, nullptr) != 0)
    fail(ErrorCode::internal, "SIGBUS cannot be handled: {}", errno);
}

uint64_t lost_pages() noexcept { return lost.load(std::memory_order_relaxed); }

}  // namespace poprt::inspector

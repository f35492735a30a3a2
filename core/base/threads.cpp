#include "base/threads.h"

#include <pthread.h>

#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace poprt {

BlockedSignals::BlockedSignals() noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

BlockedSignals::~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void work_on_threads(size_t threads, const std::function<void()>& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  const auto call = [&]() noexcept {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      const BlockedSignals blocked;
      for (size_t i = 1; i < threads; i++) others.emplace_back(call);
    } catch (const std::system_error&) {  // the threads that were started do all of the work
    }
    call();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace poprt

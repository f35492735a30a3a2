// Limits the number of threads that the process can start: each thread gets a stack so large that
// the allowed memory is enough for this number of stacks.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <thread>

namespace poprt::test {

class FewThreads {
 public:
  explicit FewThreads(uint64_t threads) {
    std::thread([] {}).join();  // sanitizers allocate memory for the first thread
    pthread_getattr_default_np(&before_);
    pthread_attr_t large;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, kStack);
    pthread_setattr_default_np(&large);
    pthread_attr_destroy(&large);
    getrlimit(RLIMIT_AS, &limit_);
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit few = limit_;
    few.rlim_cur =
        pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + threads * kStack + kStack / 2;
    setrlimit(RLIMIT_AS, &few);
  }
  ~FewThreads() {
    setrlimit(RLIMIT_AS, &limit_);
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;

 private:
  static constexpr uint64_t kStack = uint64_t{4} << 30;
  pthread_attr_t before_;
  rlimit limit_{};
};

}  // namespace poprt::test

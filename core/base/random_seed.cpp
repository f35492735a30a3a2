#include "base/random_seed.h"

#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

namespace poprt {

uint64_t random_seed() {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) == static_cast<ssize_t>(sizeof seed)) return seed;
  static std::atomic<uint64_t> calls{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return (static_cast<uint64_t>(now) ^ static_cast<uint64_t>(::getpid()) << 40) +
         calls.fetch_add(1);
}

}  // namespace poprt

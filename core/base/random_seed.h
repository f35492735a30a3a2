// A start for random numbers that differs between processes, threads and calls.
#pragma once

#include <cstdint>

namespace poprt {

// 64 bits of the system's randomness; of clock and process where the system has none. Not
// std::random_device: that of GCC 12 asks for a newer C library than the rest of libpoprt, which is
// to load on that of Ubuntu 22.04. Thread-safe.
uint64_t random_seed();

}  // namespace poprt

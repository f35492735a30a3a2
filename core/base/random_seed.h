// A seed for random numbers that differs between processes, threads and calls.
#pragma once

#include <cstdint>

namespace poprt {

// Returns 64 random bits from the system, or from the clock and the process if the system has no
// source of randomness. std::random_device is not used because the implementation of GCC 12
// requires a newer C library than Ubuntu 22.04 has, and libpoprt must load there. Thread-safe.
uint64_t random_seed();

}  // namespace poprt

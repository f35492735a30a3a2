// Client threads of the commands that measure.
#pragma once

#include <cstddef>
#include <functional>

namespace poprt::cli {

// Calls `work(i)` for each of `count` clients, on a thread of its own, and returns when all have
// ended. Throws Failure with what the first of them threw, or when not all threads can be had.
void run_clients(size_t count, const std::function<void(size_t)>& work);

}  // namespace poprt::cli

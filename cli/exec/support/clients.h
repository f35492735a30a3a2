// Runs client threads for the commands that measure.
#pragma once

#include <cstddef>
#include <functional>

namespace poprt::cli {

// Calls `work(i)` for each of `count` clients on its own thread, and returns when all have ended.
// Throws Failure with the message of the first exception, or if a thread cannot be created.
void run_clients(size_t count, const std::function<void(size_t)>& work);

}  // namespace poprt::cli

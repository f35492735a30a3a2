// A hint to the scheduler of Linux about the time slices of a thread.
//
// A thread that wakes on a processor where another thread computes preempts it only if it has
// requested a shorter time slice (Linux 6.12 and newer). Otherwise it waits for the next tick, up
// to 4 ms.
#pragma once

namespace poprt {

// Makes the calling thread preempt threads that compute. Use it in threads that wake only to notify
// others. The share of the thread in the processor does not change, only the order. Does nothing
// for real-time and background threads, and has no effect on kernels without this feature and in
// sandboxes that forbid it. Threads that the calling one starts later do not inherit the setting,
// unless the calling thread has a negative nice value.
void request_short_time_slice() noexcept;

}  // namespace poprt

// What a thread of ours tells the kernel about the stretches that it runs in.
//
// A thread that wakes on a processor that another computes on interrupts it only if it asked for
// shorter stretches (Linux 6.12 and newer, where threads may ask); else it waits for the next tick,
// up to 4 ms.
#pragma once

namespace poprt {

// For a thread that wakes to tell others something: it does so at once, whatever computes. Its
// share of the processor stays what it is, only who goes first changes. Kernels that know nothing
// of it and sandboxes that forbid it are left alone. Threads that the calling one starts later do
// not inherit it (but in a process of raised priority).
void expect_short_stretches() noexcept;

}  // namespace poprt

// What is shown of a file stays mapped. When somebody shortens the file meanwhile, as programs do
// that write it anew in place, the first look at what is gone raises SIGBUS, which ends a process
// that does not expect it.
#pragma once

#include <cstdint>

namespace poprt::inspector {

// From now on such pages are zeros in this process. For the whole process, once; any thread.
void survive_lost_pages();

// How many pages were replaced so far. Any thread.
uint64_t lost_pages() noexcept;

}  // namespace poprt::inspector

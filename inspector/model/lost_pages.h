// Files stay mapped while they are shown. If a program truncates such a file, for example to
// rewrite it in place, the next access to a missing page raises SIGBUS, which would end the
// process.
#pragma once

#include <cstdint>

namespace poprt::inspector {

// Replaces missing pages by zeros from now on, for the whole process. May be called from any
// thread.
void survive_lost_pages();

// Number of pages replaced so far. May be called from any thread.
uint64_t lost_pages() noexcept;

}  // namespace poprt::inspector

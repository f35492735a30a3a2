// The number of threads that compute a run.
#pragma once

namespace poprt::device {

// The number of threads for LoadOptions::threads == 0. Throws invalid_argument if POPRT_THREADS is
// not a number from 1 to 1024.
int default_threads();
// The number of threads for LoadOptions::threads. Throws invalid_argument unless it is 0 (the
// default) or a number from 1 to 1024.
int threads_for(int wanted);

}  // namespace poprt::device

// Ends requests whose deadline passes while they wait, even if the runner's thread is busy.
#pragma once

#include <memory>

#include "runtime/queue/request.h"

namespace poprt::runtime {

// The first request with a deadline starts a thread, which sleeps until the next deadline. After an
// answer, requests whose deadlines are within the next half millisecond are answered together at
// its end. Any thread may call add(). Requests that are done or running are removed when the list
// of requests has doubled, so its memory depends on the number of existing requests, even if
// deadlines are far away. A forked child starts its own thread, which does not answer the requests
// of the parent.
class DeadlineWatch {
 public:
  DeadlineWatch();
  // When the destructor returns, the thread does not use requests any more, unless that thread
  // itself calls the destructor, in a callback.
  ~DeadlineWatch();
  DeadlineWatch(const DeadlineWatch&) = delete;
  DeadlineWatch& operator=(const DeadlineWatch&) = delete;

  // Throws resource_exhausted if the thread cannot be started.
  void add(const RequestPtr& request);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace poprt::runtime

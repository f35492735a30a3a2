// Ends requests whose deadline passes while they wait, even if the runner's thread is busy.
#pragma once

#include <memory>

#include "runtime/queue/request.h"

namespace poprt::runtime {

// Its thread is started by the first request with a deadline and sleeps until the next deadline.
// After an answer, requests whose deadlines are within the next half millisecond are answered
// together at its end. Any thread may call add(). Requests that are done or running are removed
// when the list has doubled, so memory depends on the number of existing requests, even if
// deadlines are far away. A forked child starts its own thread, which does not answer the requests
// of the parent.
class DeadlineWatch {
 public:
  DeadlineWatch();
  // When it returns, the thread does not use requests any more, unless the caller is that thread
  // itself, in a callback.
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

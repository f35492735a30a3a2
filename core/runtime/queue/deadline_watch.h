// Ends requests whose time is over while they wait, whatever the runner's own thread is computing.
#pragma once

#include <memory>

#include "runtime/queue/request.h"

namespace poprt::runtime {

// Its thread is made by the first request with a deadline and sleeps until the next deadline; those
// that pass within half a millisecond after it has told one are told together. add() may be called
// by any thread; requests that are done or running are let go when the list has doubled, so a long
// time-out costs memory in proportion to the requests that exist, not to those that were made.
class DeadlineWatch {
 public:
  DeadlineWatch();
  // When this returns, the thread looks at no request any more (unless it is the caller, in a
  // callback).
  ~DeadlineWatch();
  DeadlineWatch(const DeadlineWatch&) = delete;
  DeadlineWatch& operator=(const DeadlineWatch&) = delete;

  // Throws resource_exhausted when the thread cannot be made.
  void add(const RequestPtr& request);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace poprt::runtime

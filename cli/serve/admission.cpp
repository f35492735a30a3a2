#include "serve/admission.h"

#include "serving/handles.h"

namespace poprt::serve {

using serving::Error;

void Admission::check_open() const {
  if (stopped_) throw Error(POPRT_UNAVAILABLE, "the server stops");
}

void Admission::enter(int64_t count, std::atomic<uint64_t>& rejected) {
  check_open();
  if (count > 1 && count > most_)
    throw Error(POPRT_INVALID_ARGUMENT, "the request has " + std::to_string(count) + " " + what_ +
                                            "; the limit is " + std::to_string(most_));
  if (in_flight_.fetch_add(count) + count <= most_) return;
  in_flight_ -= count;
  rejected++;
  throw Error(POPRT_RESOURCE_EXHAUSTED,
              "more than " + std::to_string(most_) + " " + what_ + " wait; try again later");
}

}  // namespace poprt::serve

// What a session asks for the data of one anchor, or gives it to.
#pragma once

#include <cstdint>

namespace poprt::runtime {

// Poplar's protocol. For every transfer of an input the session calls prefetch() (ahead of time) or
// fetch(), and then complete() once; for every transfer of an output fetch() and then complete(). A
// transfer is the anchor's bytes; of an anchor that is per replica, one replica's slice. Calls come
// one at a time, from the thread that runs the programs, except interrupt(). Where all
// callbacks of a session allow it (any_thread()), a model compiled for overlapped I/O asks for
// inputs from one thread and gives outputs from another: an input's complete() follows its fetch()
// at once then.
class StreamCallback {
 public:
  enum class Result : uint8_t { success, not_available };

  virtual ~StreamCallback() = default;

  // Whether threads of the session may call, one at a time. What users write counts on theirs, for
  // example to carry what it throws.
  virtual bool any_thread() const noexcept { return false; }

  // Memory to be used in place instead of being copied from or to: blocks until there is some, and
  // keeps it until complete(). Null: fetch() is called.
  virtual void* acquire() noexcept { return nullptr; }
  // Inputs: writes the next transfer to `p` when it is there already; must not block. Delivers the
  // same data again when fetch() or prefetch() is called before complete().
  virtual Result prefetch(void* p) noexcept {
    static_cast<void>(p);
    return Result::not_available;
  }
  // Inputs: writes the transfer to `p`, blocking until it is there. Outputs: takes it from `p`.
  // not_available only after interrupt(), or when no data will ever come: the run ends.
  virtual Result fetch(void* p) noexcept = 0;
  // The transfer is over: go on to the next one.
  virtual void complete() noexcept {}
  // What was prefetched will not be used.
  virtual void invalidate_prefetched() noexcept {}
  // Any thread: a call that blocks returns soon, and calls do not block until resume().
  virtual void interrupt() noexcept {}
  virtual void resume() noexcept {}
};

}  // namespace poprt::runtime

// The callback with which a session exchanges the data of one anchor.
#pragma once

#include <cstdint>

namespace poprt::runtime {

// This is the protocol of Poplar. For every transfer of an input the session calls prefetch()
// (ahead of time) or fetch(), and then complete() once; for every transfer of an output it calls
// fetch() and then complete(). A transfer has the bytes of the program's anchor; for an anchor that
// is per replica, these are the slice of one replica. Calls are made one at a time, on the thread
// that runs the programs, except interrupt(), and except resume() and invalidate_prefetched(),
// which the threads that load, unload or change callbacks also call. If all callbacks of a session
// allow it (any_thread()), a model that is compiled for overlapped I/O calls inputs on one thread
// and outputs on another; complete() of the inputs is then called after the last fetch() of them,
// before the computation.
class StreamCallback {
 public:
  enum class Result : uint8_t { success, not_available };

  virtual ~StreamCallback() = default;

  // Whether several threads of the session may call the functions, one at a time. By default false,
  // because a callback of a user may depend on one thread, for example to pass on an exception.
  virtual bool any_thread() const noexcept { return false; }

  // Returns memory that is used in place instead of a copy. Blocks until memory is available; the
  // session uses it until complete() or invalidate_prefetched(). If it returns null, the session
  // calls fetch() instead.
  virtual void* acquire() noexcept { return nullptr; }
  // Inputs: writes the next transfer to `p` if it is available; must not block. If fetch() or
  // prefetch() is called again before complete(), it must deliver the same data.
  virtual Result prefetch(void* p) noexcept {
    static_cast<void>(p);
    return Result::not_available;
  }
  // Inputs: writes the transfer to `p`, blocking until it is available. Outputs: reads it from `p`.
  // Returns not_available only after interrupt(), or if there will be no more data: then the run
  // ends.
  virtual Result fetch(void* p) noexcept = 0;
  // Whether fetch() returned not_available because a caller ended the transfers on purpose, by
  // QueueManager::disconnect_all(). Any thread may call it.
  virtual bool is_disconnected() const noexcept { return false; }
  // Reports that the transfer is finished; the next call is for the next transfer.
  virtual void complete() noexcept {}
  // Reports that the session does not use the prefetched data, or the memory of acquire().
  virtual void invalidate_prefetched() noexcept {}
  // Makes a blocking call return soon. Later calls do not block until resume(). Any thread may call
  // it.
  virtual void interrupt() noexcept {}
  virtual void resume() noexcept {}
};

}  // namespace poprt::runtime

// Errors as pending exceptions: nothing may be thrown through native frames.
#pragma once

#include <csignal>

#include "poprt_shim.h"

namespace poprt_csharp {

// Sets the pending exception of the thread; the message is the callee's until it returns.
using ErrorFn = void (*)(int32_t code, const char* message);
inline ErrorFn error_fn = nullptr;

inline void raise(poprt_error* error) {
  error_fn(poprt_error_get_code(error), poprt_error_message(error));
  poprt_error_free(error);
}

// The managed function behind done().
inline poprt_run_done_fn done_fn = nullptr;

// Mono stops the threads that have once run managed code by a signal whenever it collects, and
// waits for their answer. The library's threads block all signals: the ones that it may use are let
// in.
inline void admit_signals() {
  static thread_local const bool admitted = [] {
    sigset_t set;
    sigemptyset(&set);
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++) sigaddset(&set, signal);
    sigaddset(&set, SIGPWR);
    sigaddset(&set, SIGXCPU);
    return pthread_sigmask(SIG_UNBLOCK, &set, nullptr) == 0;
  }();
  static_cast<void>(admitted);
}

inline void done(int32_t code, const char* message, void* user_data) {
  admit_signals();
  done_fn(code, message, user_data);
}

}  // namespace poprt_csharp

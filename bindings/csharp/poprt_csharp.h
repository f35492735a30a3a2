// Errors as pending exceptions: nothing may be thrown through native frames.
#pragma once

#include "poprt_shim.h"

namespace poprt_csharp {

// Sets the pending exception of the thread; the message is the callee's until it returns.
using ErrorFn = void (*)(int32_t code, const char* message);
inline ErrorFn error_fn = nullptr;

inline void raise(poprt_error* error) {
  error_fn(poprt_error_get_code(error), poprt_error_message(error));
  poprt_error_free(error);
}

}  // namespace poprt_csharp

// Finds and loads the compiler library, libpoprt_compiler.so.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/log.h"
#include "compiler_library.h"

namespace poprt::capi {

// Loads the compiler library on first use, from the folder of this library. Throws
// failed_precondition with the path and the error. A later call tries again. Also loads the
// plug-ins of POPRT_PLUGINS, and passes all loaded plug-ins on to the compiler; throws the errors
// of both. Thread-safe. Throws failed_precondition in a process that was forked while another
// thread of the parent was in this function.
const poprt_compiler_library& compiler_library();

// A call of the compiler library that is in progress. The compiler and the libraries that it uses
// have locks that belong to the calling thread. So a process that is forked during a call cannot
// use the compiler: the constructor throws failed_precondition.
class CompilerCall {
 public:
  CompilerCall();
  ~CompilerCall();
  CompilerCall(const CompilerCall&) = delete;
  CompilerCall& operator=(const CompilerCall&) = delete;

 private:
  const pid_t process_;
};

// The compiler library that is loaded. A function that frees one of its objects uses it, because
// compiler_library() may throw.
const poprt_compiler_library& loaded_compiler() noexcept;

// Loads a plug-in (plugins::load). If it has passes and the compiler is installed, the compiler
// checks them first, so that nothing is registered which every later compilation would refuse.
void load_plugin(const std::string& path);

// A text that differs between builds of the compiler with the same version: the size of the library
// and the time of its last change. Empty if the library cannot be found.
std::string compiler_build();

// The same for this library.
std::string library_build();

// Sets the level of the compiler, now if it is loaded, else when it is loaded.
void set_compiler_log_level(const char* level);
void set_compiler_log_receiver(LogReceiver receiver);

}  // namespace poprt::capi

// Compiles spdlog once (as its own src/ does) for the two files that log through it: the logger,
// its patterns, and the sinks for standard output, standard error and a file, which ForkSink
// guards.
#include <spdlog/common-inl.h>
#include <spdlog/details/backtracer-inl.h>
#include <spdlog/details/file_helper-inl.h>
#include <spdlog/details/log_msg-inl.h>
#include <spdlog/details/log_msg_buffer-inl.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/details/os-inl.h>
#include <spdlog/details/periodic_worker-inl.h>
#include <spdlog/details/registry-inl.h>
#include <spdlog/logger-inl.h>
#include <spdlog/pattern_formatter-inl.h>
#include <spdlog/sinks/ansicolor_sink-inl.h>
#include <spdlog/sinks/base_sink-inl.h>
#include <spdlog/sinks/basic_file_sink-inl.h>
#include <spdlog/sinks/sink-inl.h>

namespace spdlog::sinks {
template class ansicolor_sink<details::console_nullmutex>;
template class ansicolor_stdout_sink<details::console_nullmutex>;
template class ansicolor_stderr_sink<details::console_nullmutex>;
template class base_sink<details::null_mutex>;
template class basic_file_sink<details::null_mutex>;
}  // namespace spdlog::sinks

// In front of a loop whose result i depends on operands i alone, though it may lie over them.
#pragma once

#if !defined(__clang__)
#define POPRT_INDEPENDENT _Pragma("GCC ivdep")
#elif __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
// Checks inside a loop keep it from being vectorised, and clang would report that.
#define POPRT_INDEPENDENT
#else
#define POPRT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#endif

// POPRT_INDEPENDENT is placed before a loop in which result i depends on operands i only, although
// the result may share memory with them.
#pragma once

#if !defined(__clang__)
#define POPRT_INDEPENDENT _Pragma("GCC ivdep")
#elif __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
// Checks inside a loop prevent its vectorisation, which clang would report.
#define POPRT_INDEPENDENT
#else
#define POPRT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#endif

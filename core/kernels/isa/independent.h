// In front of a loop whose result i depends on operands i alone, though it may lie over them.
#pragma once

#if defined(__clang__)
#define POPRT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define POPRT_INDEPENDENT _Pragma("GCC ivdep")
#endif

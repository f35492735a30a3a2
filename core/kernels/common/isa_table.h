// Selects the build of a kernel for the instruction set that instruction_set.cpp has chosen. A
// source core/kernels/isa/foo.cpp defines, in namespace poprt::kernels::isa, one `extern const
// FooTable POPRT_ISA_NAME(foo)`: a struct of function pointers, which isa/foo.h declares for every
// instruction set with POPRT_DECLARE_ISA(FooTable, foo).
#pragma once

#include "kernels/common/instruction_set.h"

// Users of the tables select a build through foo_builds(), which is generated: isa_builds.h.
#if defined(POPRT_ISA)
#define POPRT_DECLARE_ISA(Table, name) \
  extern const Table name##_baseline;  \
  extern const Table name##_avx2;      \
  extern const Table name##_avx512;
#else
#define POPRT_DECLARE_ISA(Table, name) \
  extern const Table name##_baseline;  \
  extern const Table name##_avx2;      \
  extern const Table name##_avx512;    \
  const Table* const* name##_builds();
#endif

#define POPRT_SELECT_ISA(name) \
  (*::poprt::kernels::isa::name##_builds()[static_cast<int>(::poprt::kernels::cpu_isa())])

// Selects the build of a kernel that this CPU can run. A source core/kernels/isa/foo.cpp defines,
// in namespace poprt::kernels::isa, one `extern const FooTable POPRT_ISA_NAME(foo)`: a struct of
// function pointers, which isa/foo.h declares for every instruction set with
// POPRT_DECLARE_ISA(FooTable, foo).
#pragma once

#include "kernels/common/cpu.h"

#define POPRT_DECLARE_ISA(Table, name) \
  extern const Table name##_baseline;  \
  extern const Table name##_avx2;      \
  extern const Table name##_avx512;

#if defined(POPRT_HAS_ISA_avx512)
#define POPRT_SELECT_ISA(name)                                  \
  (::poprt::kernels::cpu_isa() == ::poprt::kernels::Isa::avx512 \
       ? ::poprt::kernels::isa::name##_avx512                   \
   : ::poprt::kernels::cpu_isa() == ::poprt::kernels::Isa::avx2 \
       ? ::poprt::kernels::isa::name##_avx2                     \
       : ::poprt::kernels::isa::name##_baseline)
#else
#define POPRT_SELECT_ISA(name) ::poprt::kernels::isa::name##_baseline
#endif

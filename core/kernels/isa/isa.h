// POPRT_ISA_NAME(foo) is foo_avx512 (or _avx2, _baseline) while that build is compiled.
#pragma once

#define POPRT_ISA_CONCAT2(a, b) a##_##b
#define POPRT_ISA_CONCAT(a, b) POPRT_ISA_CONCAT2(a, b)
#define POPRT_ISA_NAME(name) POPRT_ISA_CONCAT(name, POPRT_ISA)

// Which instruction set the kernels use on this machine. Includes nothing: isa/*.cpp reach it.
#pragma once

namespace poprt::kernels {

enum class Isa { baseline, avx2, avx512 };

// The best that the CPU and the operating system support; POPRT_ISA=baseline|avx2|avx512 in the
// environment lowers it (never raises it). Decided once.
Isa cpu_isa();
const char* isa_name(Isa isa);
// Once in a process: warns when POPRT_ISA names none.
void warn_of_isa();

// AVX-512 with its instructions for 8-bit products.
bool cpu_has_vnni();
// AVX-512 with its byte permutations.
bool cpu_has_vbmi();

}  // namespace poprt::kernels

// The instruction set that the kernels use on this machine. This header has no includes because
// isa/*.cpp include it.
#pragma once

namespace poprt::kernels {

enum class Isa { baseline, avx2, avx512 };

// The best instruction set that the CPU and the operating system support.
// POPRT_ISA=baseline|avx2|avx512 in the environment lowers it (and never raises it). Determined
// once.
Isa cpu_isa();
const char* isa_name(Isa isa);
// Warns, once in a process, if POPRT_ISA is not the name of an instruction set.
void warn_of_unknown_isa();

// Whether the CPU has the AVX-512 instructions for 8-bit products. This and the similar functions
// return false if cpu_isa() is not avx512, for example because POPRT_ISA lowers it.
bool can_use_vnni();
// Whether the CPU has the AVX-512 dot products of bf16.
bool can_use_bf16();
// Warns, once in a process, that products of bf16 are computed in f32 because the CPU has none.
void warn_without_bf16();
// Whether the CPU has the AVX-512 byte permutations.
bool can_use_vbmi();

}  // namespace poprt::kernels

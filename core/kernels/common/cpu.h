// Which instruction set the kernels use on this machine.
#pragma once

#include <string_view>

namespace poprt::kernels {

enum class Isa { baseline, avx2, avx512 };

// The best that the CPU and the operating system support; POPRT_ISA=baseline|avx2|avx512 in the
// environment lowers it (never raises it). Decided once.
Isa cpu_isa();
std::string_view isa_name(Isa isa);

}  // namespace poprt::kernels

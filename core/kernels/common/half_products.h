// Products of f16 (isa/narrow_halves.h). This is not in instruction_set.h because all of isa/*.cpp
// include that.
#pragma once

namespace poprt::kernels {

// Whether the CPU computes in f16 (AVX512-FP16); false if cpu_isa() is not avx512.
bool can_use_half_products();

}  // namespace poprt::kernels

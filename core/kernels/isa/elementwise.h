// Steps, loads and stores of elementwise programs; see core/kernels/elementwise.cpp.
#pragma once

#include <cstdint>

#include "kernels/common/dispatch.h"

namespace poprt::kernels::isa {

struct ElementwiseTable {
  // out[i] = op(a[i], b[i], c[i]) for i < n; out may be a, b or c. Bit 0, 1 or 2 of `repeats`: a, b
  // or c is sixteen equal floats that stand for all.
  void (*step)(int64_t op, float* out, const float* a, const float* b, const float* c, int64_t n,
               uint32_t repeats) noexcept;
  // n elements of a stored type to floats and back. `dtype` is a DType number that the kernel
  // checked. Stored booleans become 1 and 0.
  void (*load)(int dtype, float* out, const void* from, int64_t n) noexcept;
  void (*store)(int dtype, void* out, const float* from, int64_t n) noexcept;
  void (*fill)(float* out, float value, int64_t n) noexcept;
};

POPRT_DECLARE_ISA(ElementwiseTable, elementwise)

}  // namespace poprt::kernels::isa

// Steps, loads and stores of elementwise programs; see core/kernels/elementwise.cpp.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

inline constexpr uint32_t kElementwiseStream = 8;

struct ElementwiseTable {
  // out[i] = op(a[i], b[i], c[i]) for i < n; out may be a, b or c. Bit 0, 1 or 2 of `flags`: a, b
  // or c is sixteen equal floats that represent all elements. kElementwiseStream: `out` is not read
  // soon, so cheap operations bypass the caches when they store it; finish_stream() must be called
  // before other threads read it.
  void (*step)(int64_t op, float* out, const float* a, const float* b, const float* c, int64_t n,
               uint32_t flags) noexcept;
  void (*finish_stream)() noexcept;
  // Converts n elements of a stored type to floats and back. `dtype` is a DType number that the
  // kernel has checked. Stored booleans become 1 and 0.
  void (*load)(int dtype, float* out, const void* from, int64_t n) noexcept;
  void (*store)(int dtype, void* out, const float* from, int64_t n) noexcept;
  void (*fill)(float* out, float value, int64_t n) noexcept;
  // Writes `rows` rows of `width` floats one after the other. Row r is a copy of the floats at from
  // + r * step, or if `same`, of the float there.
  void (*rows)(float* out, const float* from, int64_t step, bool same, int64_t rows,
               int64_t width) noexcept;
};

POPRT_DECLARE_ISA(ElementwiseTable, elementwise)

}  // namespace poprt::kernels::isa

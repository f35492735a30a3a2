// Pooling of plain f32 planes of up to three spatial dimensions.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

struct PlaneAxis {
  int64_t in, out, kernel, stride, pad, dilation;
};

enum class PlanePooling { max, average, l1, l2 };

struct PlanePool {
  PlanePooling kind;
  PlaneAxis axis[3];
  const float* counts[3];  // for averages: the number of inputs of each output position of an axis
};

// The number of floats of scratch that `plane` needs. It is unsigned, because the sum of two
// products of numbers below 2^31 may exceed the range of int64_t.
inline uint64_t plane_pool_scratch(const PlaneAxis& x) {
  const auto of = [](int64_t v) { return static_cast<uint64_t>(v); };
  const uint64_t read = (of(x.out) + 16) * of(x.stride) + of(x.kernel) * of(x.dilation) + 64;
  const uint64_t given = of(x.pad) + of(x.in) + 64;
  return read > given ? read : given;
}

struct PlanePoolTable {
  // Processes one plane. The maximum of a window with a NaN is NaN.
  void (*plane)(const PlanePool& p, const float* x, float* y, float* scratch) noexcept;
};
POPRT_DECLARE_ISA(PlanePoolTable, pool_plane)

}  // namespace poprt::kernels::isa
